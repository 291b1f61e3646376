"""What a span carries that its process never ended: decided from the stored trace alone, the same whenever it is asked.

Nothing is made up: a span ends at the last sign of life of its run, and says that it was recovered.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Effect, Outcome, StopReason
from traced_loop.read.span_tree import call_id
from traced_loop.read.spending import Spending, limits, spending
from traced_loop.read.trace import SpanKey, StoredSpan, StoredTrace
from traced_loop.rules.pricing import cost_band, microusd

CRASHED: Final = str(StopReason.UNKNOWN_AFTER_CRASH)
"""``error.type`` and status text of every span that a dead process left open."""


@frozen_value
class SpanEnd:
    """How an open span is ended.

    Attributes:
        end_ns: nanoseconds since 1970.
        attributes: set beside those of its start.
        is_error: whether it gets status ERROR; a call that the ledger knows to have succeeded does not.
    """

    end_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_error: bool = True


@frozen_value
class CutOff:
    """A run as its dead process left it.

    Attributes:
        ends: how each open span is ended, children before parents; empty where nothing is open.
        doing: what the run was doing, ``execute_tool refund (call_1)``; ``""`` where nothing says it.
        unknown_calls: ids of the writes of which nobody knows whether they were applied.
    """

    ends: Mapping[SpanKey, SpanEnd] = field(default_factory=dict[SpanKey, SpanEnd])
    doing: str = ""
    unknown_calls: tuple[str, ...] = ()


def cut_off(trace: StoredTrace, known: Mapping[SpanKey, Outcome] | None = None) -> CutOff:
    """How the open spans of a dead run are ended.

    Args:
        trace: of the run; spans that an earlier recovery ended count as left open, so that a second one says the same.
        known: how executions ended of which the ledger knows more than the trace, by their span.
    """
    told = known or {}
    left = [span for _, span in trace.walk() if span.is_open]
    if not left:
        return CutOff()
    busy = [span for span in trace.left_leaves() if span.key not in told]
    doing = ", ".join(_doing(span) for span in busy)
    ends = {span.key: _end(span, trace.last_ns, told.get(span.key)) for span in reversed(left)}
    run = trace.run_span()
    if run is not None and run.key in ends:
        ended = replace(trace, spans=tuple(_ended(span, ends.get(span.key)) for span in trace.spans))
        attributes = {**ends[run.key].attributes, **_run(ended, run, doing)}
        ends[run.key] = SpanEnd(end_ns=trace.last_ns, attributes=attributes)
    unknown = [call_id(s) or "" for s in busy if s.operation == names.EXECUTE_TOOL and s.text(names.EFFECT) == _WRITE]
    return CutOff(ends=ends, doing=doing, unknown_calls=tuple(unknown))


_WRITE: Final[Effect] = "write"


def _doing(span: StoredSpan) -> str:
    short, call = span.name.removeprefix(f"{names.SCOPE}."), call_id(span)
    return f"{short} ({call})" if call else short


def _end(span: StoredSpan, end_ns: int, outcome: Outcome | None) -> SpanEnd:
    failed = outcome is not Outcome.OK
    attributes: dict[str, Any] = {names.RECOVERED: True, **({names.ERROR_TYPE: CRASHED} if failed else {})}
    if span.operation == names.EXECUTE_TOOL:
        key = names.COMPENSATION_OUTCOME if names.COMPENSATION_CALL_ID in span.attributes else names.CALL_OUTCOME
        attributes[key] = str(outcome or Outcome.UNKNOWN_AFTER_CRASH)
    elif span.operation == names.CHAT:
        attributes |= {names.GEN_AI_FINISH_REASONS: ("error",), names.USAGE_SOURCE: "missing"}
    elif span.name == names.STEP:
        attributes[names.STEP_OUTCOME] = "stopped"
    return SpanEnd(end_ns=end_ns, attributes=attributes, is_error=failed)


def _ended(span: StoredSpan, end: SpanEnd | None) -> StoredSpan:
    if end is None or span.is_run:
        return span
    return replace(span, attributes={**span.attributes, **end.attributes}, is_open=False)


def _run(trace: StoredTrace, span: StoredSpan, doing: str) -> dict[str, Any]:
    """What the run's own span says: why it ended, and what its spans show of what it used."""
    spent = spending(trace)
    found: dict[str, Any] = {
        names.RUN_STOP_REASON: CRASHED,
        names.RUN_STOP_DETAIL: f"its process ended in {doing}" if doing else "its process ended",
        names.RUN_STEPS: spent.steps,
        names.RUN_MODEL_REQUESTS: spent.model_requests,
        names.RUN_TOOL_CALLS: spent.tool_calls,
        names.RUN_FAILED_TOOL_CALLS: spent.failed_tool_calls,
        names.RUN_TOKENS: spent.tokens,
        names.RUN_INPUT_TOKENS: spent.input_tokens,
        names.RUN_OUTPUT_TOKENS: spent.output_tokens,
        names.RUN_CACHED_TOKENS: spent.cached_tokens,
        names.RUN_REASONING_TOKENS: spent.reasoning_tokens,
        names.RUN_CACHE_WRITE_TOKENS: spent.cache_write_tokens,
        names.RECEIPT_RECORDED: sum(each.trace_id == span.trace_id for each in trace.spans),
        **_cost(spent),
    }
    used = {"steps": spent.steps, "tool_calls": spent.tool_calls, "tokens": spent.tokens}
    for limit in limits(trace):
        amount = used.get(limit.name)
        if amount is not None:
            found[f"{names.BUDGET_PREFIX}{limit.name}.used"] = amount
            found[f"{names.BUDGET_PREFIX}{limit.name}.remaining"] = max(0, round(limit.limit) - amount)
    return {key: value for key, value in found.items() if value is not None and key not in span.attributes}


def _cost(spent: Spending) -> dict[str, Any]:
    cost = spent.cost_usd
    if cost is None:
        return {names.RUN_COST_SOURCE: "unknown"}
    return {
        names.RUN_COST_USD: float(cost),
        names.RUN_COST_MICROUSD: microusd(cost),
        names.RUN_COST_BAND: cost_band(cost),
        names.RUN_COST_SOURCE: spent.cost_source,
        names.RUN_COST_UPPER_BOUND: spent.cost_is_upper_bound or None,
    }
