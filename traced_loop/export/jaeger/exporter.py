"""The exporter: OpenTelemetry's interface in front, Jaeger's formats behind, and the counts of what became of spans."""

import logging
from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from traced_loop.export.jaeger import thrift_parts
from traced_loop.export.jaeger.packing import messages
from traced_loop.export.jaeger.senders import NotSentError, Sender
from traced_loop.export.jaeger.span_translation import by_resource, jaeger_process, jaeger_span

_LOGGER: Final = logging.getLogger(__name__)


class JaegerExporter(SpanExporter):
    """Sends spans to a Jaeger agent or collector. Never raises from ``export``.

    Attributes:
        accepted: spans that were sent. Over UDP nobody says whether they arrived.
        refused: spans that were not sent.
        trimmed: spans among the accepted of which something was cut to fit a message.
    """

    def __init__(self, sender: Sender) -> None:
        """Take a way out.

        Raises:
            UsageError: jaeger-client is not installed; names the extra.
        """
        thrift_parts.require()
        self._sender = sender
        self._warned = False
        self.accepted = 0
        self.refused = 0
        self.trimmed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans; FAILURE when any was not sent. A message that fails does not keep back the next."""
        before = self.accepted
        for resource, group in by_resource(spans):
            try:
                self._send(group, jaeger_process(resource))
            except Exception as error:  # noqa: BLE001 - an odd span costs spans, never a run
                self._warn(f"{type(error).__name__}: {error}")
        sent = self.accepted - before
        self.refused += len(spans) - sent
        return SpanExportResult.SUCCESS if sent == len(spans) else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """True: nothing is held."""
        return True

    def _send(self, spans: Sequence[ReadableSpan], process: thrift_parts.Process) -> None:
        for message in messages(process, map(jaeger_span, spans), self._sender.wire):
            try:
                self._sender.send(message.data)
            except NotSentError as error:
                self._warn(str(error))
            else:
                self.accepted += message.spans
                self.trimmed += message.trimmed

    def _warn(self, why: str) -> None:
        """Say it once; the counts say the rest."""
        if not self._warned:
            self._warned = True
            _LOGGER.warning("not sent to Jaeger: %s", why)
