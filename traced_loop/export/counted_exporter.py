"""The exporter behind a pipeline: counted, fed with requests of bounded size, never raising."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Union

from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from traced_loop.closed_words import Refusal
from traced_loop.export.one_warning import OneWarning
from traced_loop.export.otlp_bytes import RequestHead
from traced_loop.export.owed_worker import OwedWorker
from traced_loop.export.packed_span import PackedSpan, WaitingSpan, packed_requests, recorded_ids, run_of
from traced_loop.export.quiet_exporters import heard, quiet
from traced_loop.export.run_deliveries import RunDeliveries
from traced_loop.export.watched_exporter import WatchedExporter

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_Spans = Union[Sequence[PackedSpan], "Sequence[ReadableSpan]"]
_Request = tuple[_Spans, Callable[[], bool]]


class CountedExporter:
    """Sends batches, for one thread at a time, and tells what became of them."""

    def __init__(
        self, exporter: SpanExporter, address: str, head: Callable[[], RequestHead], owed: OwedWorker | None
    ) -> None:
        """Count from nothing.

        Args:
            exporter: where the spans go.
            address: the same for people.
            head: what the spans of ours share in a request.
            owed: told of each request; or None.
        """
        self._inner = exporter
        self._address = address
        self._head = head
        self._owed = owed
        self._warning = OneWarning()
        self.takes_bytes = isinstance(exporter, WatchedExporter) and exporter.takes_bytes
        """Whether spans of ours can be sent as they were encoded."""
        self.reset(RunDeliveries())

    def reset(self, runs: RunDeliveries) -> None:
        """Forget the counts, and what is being sent: a forked child has its own."""
        if isinstance(self._inner, WatchedExporter):
            self._inner.forget()
        self._warning.renew()
        self._runs = runs
        self.accepted = 0
        self.refused = 0
        self.dropped = 0
        self.said: list[str] = []

    def send(self, spans: Sequence[WaitingSpan]) -> None:
        """Send a batch, in as many requests as it needs; each span is counted once, whatever happens."""
        packed = [span for span in spans if isinstance(span, PackedSpan)]
        ours = [span for span in packed if span.field]
        if len(ours) < len(packed):
            heard(self.said, "spans of ours cannot be encoded")
            self._settle([span for span in packed if not span.field], "invalid")
        if ours:
            self._in_requests(ours, self._packed(ours))
        if len(packed) < len(spans):
            theirs = [span for span in spans if not isinstance(span, PackedSpan)]
            self._in_requests(theirs, self._unpacked(theirs))

    def load(self) -> None:
        """Make an exporter that is made late now; what that raises is said when something is sent."""
        if isinstance(self._inner, WatchedExporter):
            with quiet(self.said), suppress(Exception):
                self._inner.connected()

    def drop(self, span: WaitingSpan) -> None:
        """Count a span that had no place in the queue."""
        self.dropped += 1
        run_id = run_of(span)
        if run_id is not None:
            self._runs.sent({run_id: 1}, taken=False)
        if self._owed is not None:
            self._owed.overflowed()

    def warn(self, otherwise: str) -> None:
        """Say once that spans were not delivered, with the exporter's own last words if there are any."""
        text = "spans do not reach %s (%s); the run goes on, and the local store keeps what it recorded"
        self._warning.say(text, self._address, self.said, otherwise)

    def shutdown(self) -> None:
        """End the exporter."""
        with quiet(self.said):
            try:
                self._inner.shutdown()
            except Exception as error:  # noqa: BLE001 - nothing is sent any more
                self._failed(error)

    def _bytes_taken(self, head: RequestHead, spans: Sequence[PackedSpan]) -> bool:
        body = head.request([span.field for span in spans])
        return isinstance(self._inner, WatchedExporter) and self._inner.send(body)

    def _spans_taken(self, spans: "Sequence[ReadableSpan]") -> bool:
        return self._inner.export(spans) is SpanExportResult.SUCCESS

    def _packed(self, spans: Sequence[PackedSpan]) -> Iterator[_Request]:
        head = self._head()
        for batch in packed_requests(spans, head.size):
            yield batch, partial(self._bytes_taken, head, batch)

    def _unpacked(self, spans: "Sequence[ReadableSpan]") -> Iterator[_Request]:
        from traced_loop.export.request_size import requests  # needs the SDK, as these spans do

        for batch in requests(spans):
            yield batch, partial(self._spans_taken, batch)

    def _in_requests(self, spans: _Spans, made: Iterator[_Request]) -> None:
        """Send them; those of which no request could be made are refused."""
        begun = 0
        try:
            for batch, send in made:
                begun += len(batch)
                self._request(batch, send)
        except Exception as error:  # noqa: BLE001 - what is not in a request costs spans, never the thread
            self._failed(error)
        finally:  # also where a person interrupts a flush
            if begun < len(spans):
                self._settle(spans[begun:], "other")

    def _request(self, spans: _Spans, send: Callable[[], bool]) -> None:
        taken = False
        try:
            with quiet(self.said):
                taken = send()
        except Exception as error:  # noqa: BLE001 - a failing exporter costs spans, never a run
            self._failed(error)
        finally:
            refusal = self._inner.refusal if isinstance(self._inner, WatchedExporter) else None
            self._settle(spans, None if taken else refusal or "other")

    def _settle(self, spans: _Spans, refusal: Refusal | None) -> None:
        """Count spans as taken, or as refused for that reason."""
        if self._owed is not None:  # first: what is counted and not marked would be sent again
            with suppress(Exception):
                self._owed.sent(recorded_ids(spans), refusal)
        taken = refusal is None
        self._runs.sent(Counter(run_id for span in spans if (run_id := run_of(span)) is not None), taken=taken)
        if taken:
            self.accepted += len(spans)
        else:
            self.refused += len(spans)
            self.warn("it refused them")

    def _failed(self, error: Exception) -> None:
        heard(self.said, f"{type(error).__name__}: {error}")
