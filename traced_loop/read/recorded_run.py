"""What the spans of a run say of it that the index does not know while the run has no end there."""

from dataclasses import replace

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_entry import RunEntry, ended, seen
from traced_loop.read.spending import Spending, spending
from traced_loop.read.trace import StoredSpan, StoredTrace


@frozen_value
class RecordedRun:
    """What is taken of the spans of one run.

    Attributes:
        run_span: the run's own, or None.
        open_span: the innermost one without an end that began last, or None.
        spent: its sums.
        tools: that the model asked for.
        begun_ns: its first start, nanoseconds since 1970; 0 for unknown.
        last_ns: its last sign of life; likewise.
    """

    run_span: StoredSpan | None
    open_span: StoredSpan | None
    spent: Spending
    tools: frozenset[str]
    begun_ns: int = 0
    last_ns: int = 0


def recorded_run(trace: StoredTrace) -> RecordedRun:
    """What the spans of a run say by now."""
    leaves = trace.open_leaves()
    tools = {span.text(names.CALL_TOOL) for span in trace.spans if span.name == names.VALIDATE_CALL}
    return RecordedRun(
        run_span=trace.run_span(),
        open_span=leaves[-1] if leaves else None,
        spent=spending(trace),
        tools=frozenset(tool for tool in tools if tool),
        begun_ns=trace.begun_ns,
        last_ns=trace.last_ns,
    )


def as_recorded(entry: RunEntry, found: RecordedRun) -> RunEntry:
    """An entry without an end with what its spans say: what it was doing last and spent so far, and perhaps its end."""
    span = found.run_span
    if entry.state == "ended":
        return entry
    if span is not None and not span.is_open:
        return ended(entry, span)
    entry = seen(entry, found.begun_ns, found.last_ns)
    if found.open_span is None:
        return entry
    spent = found.spent
    return replace(
        entry,
        open_span=found.open_span,
        steps=spent.steps,
        tool_calls=spent.tool_calls,
        tokens=spent.tokens,
        cost_usd=spent.cost_usd,
    )
