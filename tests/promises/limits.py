"""Promise 4: a limit holds before it is spent; what can pass one is bounded, and nothing is sent after it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from traced_loop import names
from traced_loop.rules.budget import NOTHING, spent
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.telemetry.spans import SpanRecord

from .playing import Left
from .trace_facts import TraceFacts

GRACE: Final = 0.1
"""Seconds that a request, a call or a rule may take to end once its time is over, as ``bounded_wait`` says."""
HEEDING: Final = 0.5
"""The same for a tool that is told of it."""
BILLED: Final = (
    ("tokens", names.BUDGET_RESERVED_TOKENS, names.BUDGET_SETTLED_TOKENS, 1),
    ("cost_usd", names.BUDGET_RESERVED_MICROUSD, names.BUDGET_SETTLED_MICROUSD, 1_000_000),
)


def broken(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What breaks the promise, one sentence each."""
    usage, budget = left.result.usage, left.budget
    executed = len(facts.executed())
    if budget.steps is not None and not usage.steps <= budget.steps:
        yield f"{usage.steps} steps of {budget.steps}"
    if budget.tool_calls is not None and not executed <= budget.tool_calls:
        yield f"{executed} calls of {budget.tool_calls}"
    if usage.tool_calls != executed:
        yield f"{executed} calls ran, and {usage.tool_calls} are counted"
    for limit, reserved, settled, unit in BILLED:
        most: Any = getattr(budget, limit)
        if most is not None:
            yield from _billed(facts.named(names.CHECK_BUDGET), limit, float(most) * unit, reserved, settled)
    yield from _refused(facts)
    yield from _time(left, facts)
    if left.shared is not None:
        yield from _shared(left, left.shared, facts)


def _billed(checks: Sequence[SpanRecord], limit: str, most: float, reserved: str, settled: str) -> Iterator[str]:
    """A request is sent only where what was billed before and what it may take at worst fit together."""
    used = 0
    for check in checks:
        worst = used + check.attributes.get(reserved, 0)
        if _phase(check) == "request" and _admits(check) and worst > most:
            yield f"a request was sent with {used} of {most} {limit} spent, and {worst - used} reserved"
        if _phase(check) == "step":
            used += check.attributes.get(settled, 0)


def _refused(facts: TraceFacts) -> Iterator[str]:
    """A refused request is not sent, and of a refused batch nothing runs."""
    for step in facts.steps:
        executed = len(facts.executed(step))
        checks = [check for check in facts.named(names.CHECK_BUDGET, step) if _phase(check) == "batch"]
        if executed and (len(checks) != 1 or not _admits(checks[0])):
            yield f"{executed} calls ran that no check admitted"
        elif executed and executed > checks[0].attributes[names.BUDGET_RESERVED_CALLS]:
            yield f"{executed} calls ran, and {checks[0].attributes[names.BUDGET_RESERVED_CALLS]} were admitted"
    for chat in facts.named("chat"):
        before = [check for check in facts.named(names.CHECK_BUDGET) if check.start_ns < chat.start_ns]
        if not before or not _admits(before[-1]):
            yield "a request was sent that no check admitted"


def _time(left: Left, facts: TraceFacts) -> Iterator[str]:
    budget, usage = left.budget, left.result.usage
    if budget.seconds is not None and usage.seconds > budget.seconds + HEEDING + GRACE:
        yield f"the run took {usage.seconds} of {budget.seconds} seconds"
    for span in facts.named("chat"):
        if (took := _seconds(span)) > budget.request_seconds + GRACE:
            yield f"a request took {took} of {budget.request_seconds} seconds"
    for span in facts.executed():
        tool = span.name.split()[1]
        most = {"later": 5.0, "save": 4.0}.get(tool, budget.tool_seconds)
        if (took := _seconds(span)) > most + (HEEDING if tool == "heeds" else GRACE):
            yield f"{tool} took {took} of {most} seconds"


def _shared(left: Left, shared: SharedBudget, facts: TraceFacts) -> Iterator[str]:
    if shared.reserved != NOTHING:
        yield f"{shared.reserved} is still reserved"
    if shared.spent != spent(left.result.usage):
        yield f"the shared budget counts {shared.spent}, the run {spent(left.result.usage)}"
    for name, room in shared.headroom().items():
        if name in {"steps", "tool_calls"} and room.used > room.limit:
            yield f"{room.used} of {room.limit} shared {name}"
    for check in facts.named(names.CHECK_BUDGET):
        for name in shared.holdings():
            parts = [f"{names.BUDGET_SHARED_PREFIX}{name}.{part}" for part in ("limit", "used", "reserved")]
            most, used, held = (check.attributes[part] for part in parts)
            if _phase(check) != "step" and _admits(check) and used + held > most:
                yield f"a {_phase(check)} was admitted with {used} and {held} of {most} shared {name}"


def _phase(check: SpanRecord) -> str:
    return str(check.attributes[names.BUDGET_PHASE])


def _admits(check: SpanRecord) -> bool:
    return check.attributes[names.BUDGET_OUTCOME] != "exceeded"


def _seconds(span: SpanRecord) -> float:
    return (span.end_ns - span.start_ns) // 1_000 / 1e6
