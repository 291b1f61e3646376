"""Our own exporter pipeline: only built when an endpoint is configured and the application has no provider.

Endpoints, headers, timeouts, samplers and resource come from the standard ``OTEL_*`` variables, read by the standard
exporters. What is ours: which protocol is meant when nobody says, and an exit that waits one second at most.
"""

import atexit
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from traced_loop import names
from traced_loop.errors import UsageError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

EXIT_SECONDS: Final = 1.0
"""The process waits this long for the collector when it ends; the local store holds the rest."""
GRPC_PORT: Final = 4317
"""Registered port of OTLP/gRPC; OTLP/HTTP has 4318."""

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_LOGGER: Final = logging.getLogger("traced_loop.export")


def configured_exporter(environment: Mapping[str, str]) -> str | None:
    """``otlp`` or ``console`` when the environment asks for it, else None.

    ``OTEL_TRACES_EXPORTER`` decides; without it, an endpoint means ``otlp``.

    Raises:
        UsageError: an exporter that is not known here.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    asked = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if asked == "none":
        return None
    if asked in {"otlp", "console"}:
        return asked
    if asked:
        raise UsageError(f"OTEL_TRACES_EXPORTER={asked}: known are otlp, console and none")
    return "otlp" if any(environment.get(name) for name in _ENDPOINTS) else None


def build_provider(kind: str, endpoint: str | None = None) -> "Pipeline":
    """A provider of our own with a batch processor and the exporter.

    Args:
        kind: ``otlp`` or ``console``.
        endpoint: base URL of a collector, or None for what the environment says.

    Raises:
        UsageError: an endpoint or a protocol that cannot be used.
    """
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: names.SERVICE_NAME_DEFAULT}))
    exporter = ConsoleSpanExporter() if kind == "console" else _otlp_exporter(endpoint)
    counted = _counting(exporter)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(counted))
    return Pipeline(provider, counted)


class Pipeline:
    """A provider and what became of the spans that it was given."""

    def __init__(self, provider: "TracerProvider", exporter: Any) -> None:
        self.provider = provider
        self._exporter = exporter
        self._closed = False
        self._pid = os.getpid()
        atexit.register(self.close)

    @property
    def accepted(self) -> int:
        """Spans that the collector took."""
        accepted: int = self._exporter.accepted
        return accepted

    @property
    def refused(self) -> int:
        """Spans that the collector did not take."""
        refused: int = self._exporter.refused
        return refused

    def close(self, seconds: float = EXIT_SECONDS) -> bool:
        """Send what is left, for that long at most; True when all was sent. Closing twice is fine."""
        if self._closed or self._pid != os.getpid():
            return True
        self._closed = True
        ending = threading.Thread(target=self.provider.shutdown, name="traced-loop-export-end", daemon=True)
        ending.start()
        ending.join(seconds)
        complete = not ending.is_alive() and self.refused == 0
        if not complete:
            _LOGGER.warning("the collector did not take all spans in time; the local store has them")
        return complete


def _otlp_exporter(endpoint: str | None) -> "SpanExporter":
    given = endpoint or next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    protocol = next((os.environ[name] for name in _PROTOCOLS if os.environ.get(name)), "")
    address = urlsplit(given if "//" in given else f"//{given}")
    try:
        port = address.port
    except ValueError as error:
        raise UsageError(f"the OTLP endpoint has no valid port: {_hidden(given)}") from error
    # Nobody sends HTTP to the gRPC port on purpose; the specification's default would lose every span there.
    protocol = protocol or ("grpc" if port == GRPC_PORT else "http/protobuf")
    if endpoint is not None and address.scheme not in {"http", "https"}:
        raise UsageError(f"--otlp wants a URL, as http://localhost:4318, not {_hidden(given)!r}")
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=endpoint, insecure=True) if endpoint and address.scheme == "http" else Grpc(endpoint)
    if protocol != "http/protobuf":
        raise UsageError(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: known are http/protobuf and grpc")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    path = address.path.rstrip("/")
    full = endpoint if endpoint is None or path.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces"
    return Http(endpoint=full)


def _counting(exporter: "SpanExporter") -> Any:
    from opentelemetry.sdk.trace.export import SpanExporter as Base
    from opentelemetry.sdk.trace.export import SpanExportResult as Result

    class CountingExporter(Base):
        """Counts what the wrapped exporter reports."""

        accepted = 0
        refused = 0

        def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
            result = exporter.export(spans)
            if result is Result.SUCCESS:
                self.accepted += len(spans)
            else:
                self.refused += len(spans)
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    return CountingExporter()


def _hidden(url: str) -> str:
    return url.rpartition("@")[2]
