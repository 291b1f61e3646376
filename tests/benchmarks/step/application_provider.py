"""A tracer provider as applications set it up: the SDK's batches and its exporter, all with their defaults."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class CountedProvider:
    """The provider, and how many spans it has ended."""

    def __init__(self, traces: str) -> None:
        self.provider = TracerProvider()
        self._count = _Count()
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=traces)))
        self.provider.add_span_processor(self._count)

    @property
    def ended(self) -> int:
        """Since it was made."""
        return self._count.ended


class _Count(SpanProcessor):
    def __init__(self) -> None:
        self.ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        self.ended += 1
