"""Keep or drop all spans of a run when it ends.

A run that failed, stopped, repeated itself, cost much or took long is always kept; of the rest a part.

A collector's tail sampling decides after a fixed wait, which many runs outlive; the process itself knows when a run has
ended and how. Only what is exported is sampled: the local store keeps every run.
"""

from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from traced_loop import names
from traced_loop.export.held_spans import EndedRun, HeldSpans
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.telemetry.spans import run_id_in


class RunSampler(SpanProcessor):
    """Holds the spans of each run back until its root ends, then hands them on or drops them.

    Wraps the processor that exports: ``RunSampler(BatchSpanProcessor(exporter), RunSampling(ratio=0.1))``. Spans that
    belong to no run of ours are handed on at once.
    """

    def __init__(self, inner: SpanProcessor, sampling: RunSampling, held: HeldSpans[Any] | None = None) -> None:
        """Hold nothing yet.

        Args:
            inner: what the spans are handed on to.
            sampling: which runs are kept.
            held: where they are held together with what does not come through here; None for a place of its own.
        """
        self._inner = inner
        self._held: HeldSpans[Any] = HeldSpans(sampling) if held is None else held
        self._runs: dict[int, str] = {}
        """Without a lock, which a signal handler or a forked child might wait for: one step of a dict is whole."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note to which run a span belongs; a library's span inside a tool belongs to the tool's."""
        self._inner.on_start(span, parent_context)
        run_id = (span.attributes or {}).get(names.RUN_ID) or run_id_in(parent_context)
        if isinstance(run_id, str) and span.context is not None:
            self._runs[span.context.span_id] = run_id

    def on_end(self, span: ReadableSpan) -> None:
        """Hold the span back, or decide about its run when it is the root."""
        run_id = self._runs.pop(span.context.span_id, None) if span.context is not None else None
        for ready in self._held.ready(run_id, span, _ended_run(span)):
            self._inner.on_end(ready)

    def decision(self, run_id: str) -> bool | None:
        """Whether a run was kept; None where that is not decided, or too long ago."""
        return self._held.decision(run_id)

    def shutdown(self) -> None:
        """Hand on what is held: a run that has not ended by now is not unremarkable."""
        for span in self._held.rest():
            self._inner.on_end(span)
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush what was decided; running runs stay held."""
        return self._inner.force_flush(timeout_millis)


def _ended_run(span: ReadableSpan) -> EndedRun | None:
    attributes = span.attributes or {}
    if not span.name.startswith(f"{names.INVOKE_AGENT} ") or names.RUN_STOP_REASON not in attributes:
        return None
    return EndedRun(
        attributes=attributes,
        failed=span.status.status_code is StatusCode.ERROR,
        seconds=((span.end_time or 0) - (span.start_time or 0)) / 1e9,
        trace_id=span.context.trace_id if span.context is not None else 0,
    )
