"""Keep or drop all spans of a run when it ends.

A run that failed, stopped, repeated itself, cost much or took long is always kept; of the rest a part.

A collector's tail sampling decides after a fixed wait, which many runs outlive; the process itself knows when a run has
ended and how. Only what is exported is sampled: the local store keeps every run.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.outcomes import ORDERLY_STOPS
from traced_loop.telemetry.spans import run_id_in

MAX_SPANS_HELD: Final = 10_000
"""Spans of one run that are held back; a longer run is kept, and goes out as it comes."""
MAX_DECISIONS: Final = 10_000
"""Ended runs of which the decision is remembered, for spans that end after their run."""
_TRACE_BITS: Final = 2**64


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSampling:
    """Which runs are exported.

    Attributes:
        ratio: part of the unremarkable runs that is kept, 0 to 1; decided by trace id, alike in every process.
        cost_usd: a run that costs this much or more is always kept; an unknown cost decides nothing.
        seconds: a run that takes this long or longer is always kept.
    """

    ratio: float = 1.0
    cost_usd: Decimal | float | str = Decimal(1)
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse what is no part.

        Raises:
            UsageError: a ratio outside of 0 to 1.
        """
        if not 0 <= self.ratio <= 1:
            raise UsageError(f"RunSampling(ratio={self.ratio!r}): must be from 0 to 1")

    def keeps(self, root: ReadableSpan) -> bool:
        """The decision about a run, from its ended root span."""
        found = root.attributes or {}
        if root.status.status_code is StatusCode.ERROR:
            return True
        if found.get(names.RUN_STOP_REASON) not in ORDERLY_STOPS or found.get(names.RUN_FLAGGED):
            return True
        cost = found.get(names.RUN_COST_USD)
        if isinstance(cost, (int, float)) and Decimal(str(cost)) >= Decimal(str(self.cost_usd)):
            return True
        if ((root.end_time or 0) - (root.start_time or 0)) / 1e9 >= self.seconds:
            return True
        trace_id = root.context.trace_id if root.context is not None else 0
        return (trace_id % _TRACE_BITS) < self.ratio * _TRACE_BITS


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
                return self._decided(run_id, keep=self._sampling.keeps(span))
            return self._decided(run_id, keep=True) if len(held) > MAX_SPANS_HELD else []

    def _decided(self, run_id: str, *, keep: bool) -> list[ReadableSpan]:
        self._decisions[run_id] = keep
        while len(self._decisions) > MAX_DECISIONS:
            self._decisions.popitem(last=False)
        held = self._held.pop(run_id, [])
        return held if keep else []
