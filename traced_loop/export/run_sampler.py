"""Keep or drop all spans of a run when it ends.

A run that failed, stopped, repeated itself, cost much or took long is always kept; of the rest a part.

A collector's tail sampling decides after a fixed wait, which many runs outlive; the process itself knows when a run has
ended and how. Only what is exported is sampled: the local store keeps every run.
"""

import threading
from collections import OrderedDict
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from traced_loop import names
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.telemetry.spans import run_id_in

MAX_SPANS_HELD: Final = 10_000
"""Spans of one run that are held back; a longer run is kept, and goes out as it comes."""
MAX_DECISIONS: Final = 10_000
"""Ended runs of which the decision is remembered, for spans that end after their run."""


class RunSampler(SpanProcessor):
    """Holds the spans of each run back until its root ends, then hands them on or drops them.

    Wraps the processor that exports: ``RunSampler(BatchSpanProcessor(exporter), RunSampling(ratio=0.1))``. Spans that
    belong to no run of ours are handed on at once.
    """

    def __init__(self, inner: SpanProcessor, sampling: RunSampling) -> None:
        self._inner = inner
        self._sampling = sampling
        self._lock = threading.Lock()
        self._held: dict[str, list[ReadableSpan]] = {}
        self._runs: dict[int, str] = {}
        self._decisions: OrderedDict[str, bool] = OrderedDict()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note to which run a span belongs; a library's span inside a tool belongs to the tool's."""
        self._inner.on_start(span, parent_context)
        run_id = (span.attributes or {}).get(names.RUN_ID) or run_id_in(parent_context)
        if isinstance(run_id, str) and span.context is not None:
            with self._lock:
                self._runs[span.context.span_id] = run_id

    def on_end(self, span: ReadableSpan) -> None:
        """Hold the span back, or decide about its run when it is the root."""
        for ready in self._ready(span):
            self._inner.on_end(ready)

    def decision(self, run_id: str) -> bool | None:
        """Whether a run was kept; None where that is not decided, or too long ago."""
        with self._lock:
            return self._decisions.get(run_id)

    def shutdown(self) -> None:
        """Hand on what is held: a run that has not ended by now is not unremarkable."""
        with self._lock:
            left = [span for spans in self._held.values() for span in spans]
            self._held.clear()
        for span in left:
            self._inner.on_end(span)
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush what was decided; running runs stay held."""
        return self._inner.force_flush(timeout_millis)

    def _ready(self, span: ReadableSpan) -> list[ReadableSpan]:
        with self._lock:
            run_id = self._runs.pop(span.context.span_id, None) if span.context is not None else None
            if run_id is None:
                return [span]
            known = self._decisions.get(run_id)
            if known is not None:
                return [span] if known else []
            held = self._held.setdefault(run_id, [])
            held.append(span)
            if span.name.startswith(f"{names.INVOKE_AGENT} ") and names.RUN_STOP_REASON in (span.attributes or {}):
                return self._decided(run_id, keep=self._keeps(span))
            return self._decided(run_id, keep=True) if len(held) > MAX_SPANS_HELD else []

    def _keeps(self, root: ReadableSpan) -> bool:
        return self._sampling.keeps(
            root.attributes or {},
            failed=root.status.status_code is StatusCode.ERROR,
            seconds=((root.end_time or 0) - (root.start_time or 0)) / 1e9,
            trace_id=root.context.trace_id if root.context is not None else 0,
        )

    def _decided(self, run_id: str, *, keep: bool) -> list[ReadableSpan]:
        self._decisions[run_id] = keep
        while len(self._decisions) > MAX_DECISIONS:
            self._decisions.popitem(last=False)
        held = self._held.pop(run_id, [])
        return held if keep else []
