"""Where other limits would have stopped a run that is known: the loop's own checks, in its order, over recorded steps.

The answers are taken as they were. A limit would also have shortened or cut an answer that was longer or later than it
allows; that the run would have gone on otherwise from there nobody can know, so it is said and not guessed.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from traced_loop.frozen_value import frozen_value
from traced_loop.messages import TokenUsage
from traced_loop.outcomes import STOP_RANK, StopReason
from traced_loop.rules.budget import STOP_OF, WRITE_PART, Budget, Limit, Reserve, check
from traced_loop.rules.pricing import Price
from traced_loop.run_result import Usage

ReplayPhase = Literal["request", "batch", "call", "step"]
"""Where a limit is asked: before a request, before its calls, before one call, after the step."""


@frozen_value
class RecordedCall:
    """One call at its turn: active seconds when it came, and the longest that it may take where that is a write."""

    begun: float
    write_timeout: float | None = None
    is_declared: bool = False
    """Whether its tool says so, and not a limit."""
    has_run: bool = True
    """False where a person was asked, and did not say yes."""


@frozen_value
class RecordedStep:
    """One step of a run that is known.

    Attributes:
        number: 1-based.
        asked: active seconds when the limits were asked before its request.
        expected_tokens: what its input was expected to take.
        tokens: what it was billed.
        output_tokens: of its answer, where known.
        cost_usd: what it cost.
        price: of its tokens, or None.
        answered: active seconds when its answer was there.
        batch: active seconds when the limits were asked before its calls; None where they were not.
        wanted: calls that might have run.
        calls: calls that ran, in the order of their starts.
        ended: active seconds when it was compared with the limits.
        is_final: its answer ended the run.
        stop: why the run stopped in it otherwise, or None.
        repeats: a repetition that stops a run was complete with it.
    """

    number: int
    asked: float
    expected_tokens: int
    tokens: int
    output_tokens: int | None = None
    cost_usd: Decimal = Decimal(0)
    price: Price | None = None
    answered: float = 0.0
    batch: float | None = None
    wanted: int = 0
    calls: tuple[RecordedCall, ...] = ()
    ended: float = 0.0
    is_final: bool = False
    stop: str | None = None
    repeats: bool = False


@frozen_value
class ReplayedStop:
    """Where and why a run would have stopped.

    Attributes:
        step: the step that would have been the last; 1-based.
        phase: the check that would have refused.
        reason: the stop reason.
        spent: the request of that step would have been made.
    """

    step: int
    phase: ReplayPhase
    reason: StopReason
    spent: bool = True


@frozen_value
class Replay:
    """What came of other limits.

    Attributes:
        stop: None where the run would have ended as it did.
        shortened: steps up to that stop whose answers the limits would have shortened, or cut for being late.
    """

    stop: ReplayedStop | None = None
    shortened: tuple[int, ...] = ()


def replay(budget: Budget, steps: Sequence[RecordedStep]) -> Replay:
    """Ask these limits over recorded steps, in order; the last one may hold how the run really ended."""
    usage, shortened = Usage(), list[int]()
    for step in steps:
        refused = _refused(budget, usage, step.asked, _reserve(step, 1))
        if refused is not None:
            reason = STOP_OF[refused]
            stop = ReplayedStop(step=step.number, phase="request", reason=reason, spent=False)
            return Replay(stop=stop, shortened=tuple(shortened))
        if _is_shortened(budget, usage, step):
            shortened.append(step.number)
        usage = _plus(usage, step)
        if step.is_final:
            break
        found = _in_step(budget, usage, step)
        if found is not None:
            stop = ReplayedStop(step=step.number, phase=found[0], reason=found[1])
            return Replay(stop=stop, shortened=tuple(shortened))
        usage = replace(usage, tool_calls=usage.tool_calls + sum(call.has_run for call in step.calls))
    return Replay(shortened=tuple(shortened))


def _in_step(budget: Budget, usage: Usage, step: RecordedStep) -> tuple[ReplayPhase, StopReason] | None:
    """The first stop between the answer of a step and its end, a stop that really came in it included."""
    if step.batch is not None:
        refused = _refused(budget, usage, step.batch, Reserve(tool_calls=step.wanted))
        if refused is not None:
            return "batch", STOP_OF[refused]
        for call in step.calls:
            left = None if budget.seconds is None else budget.seconds - call.begun
            late = left is not None and (left <= 0 or _write_seconds(call, budget) > left)
            if late:
                return "call", StopReason.DEADLINE_EXCEEDED
    after = replace(usage, tool_calls=usage.tool_calls + sum(call.has_run for call in step.calls), seconds=step.ended)
    exceeded = check(budget, after).exceeded
    due = [STOP_OF[exceeded]] if exceeded is not None else []
    due += [StopReason.REPETITION_DETECTED] if step.repeats else []
    reason = min(due, key=lambda each: STOP_RANK[each], default=None)
    if reason is None or (step.stop is not None and _stands(step.stop, reason)):
        return None
    return "step", reason


def _stands(real: str, reason: StopReason) -> bool:
    """Whether the stop that really came outranks another one that is due after the same step."""
    return real not in STOP_RANK or STOP_RANK[real] <= STOP_RANK[reason]


def _refused(budget: Budget, usage: Usage, seconds: float, reserve: Reserve) -> Limit | None:
    return check(budget, replace(usage, seconds=seconds), reserve).exceeded


def _reserve(step: RecordedStep, answer: int) -> Reserve:
    cost = None
    if step.price is not None:
        cost = step.price.cost(TokenUsage(input=step.expected_tokens, output=answer))
    return Reserve(steps=1, tokens=step.expected_tokens + answer, cost_usd=cost or Decimal(0))


def _is_shortened(budget: Budget, usage: Usage, step: RecordedStep) -> bool:
    late = budget.seconds is not None and step.answered >= budget.seconds
    if step.output_tokens is None or step.output_tokens < 1:
        return late
    whole = check(_lasting(budget), usage, _reserve(step, step.output_tokens)).exceeded
    return late or whole is not None


def _lasting(budget: Budget) -> Budget:
    """The limits that a shorter answer keeps."""
    return Budget(
        steps=None, tool_calls=None, seconds=None, tokens=budget.tokens, cost_usd=budget.cost_usd, warn_at=None
    )


def _plus(usage: Usage, step: RecordedStep) -> Usage:
    return replace(
        usage,
        steps=usage.steps + 1,
        tokens=usage.tokens + step.tokens,
        charged_usd=usage.charged_usd + step.cost_usd,
    )


def _write_seconds(call: RecordedCall, budget: Budget) -> float:
    """What a write may take under these limits; 0 of a read."""
    if call.write_timeout is None or call.is_declared or budget.seconds is None:
        return call.write_timeout or 0
    return min(call.write_timeout, budget.seconds * WRITE_PART)
