"""When several stops are due at once, the order of stops decides: for all that can be due together, a run with both."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import combinations, permutations
from typing import Any

import pytest

from traced_loop import (
    Budget,
    Loop,
    Policy,
    Price,
    RunResult,
    ScriptedModel,
    SharedBudget,
    StopReason,
    Usage,
    partial_result,
    tool,
)
from traced_loop.events import BudgetChecked, Event
from traced_loop.messages import ModelRequest
from traced_loop.outcomes import STOP_PRECEDENCE
from traced_loop.rules.budget import NOTHING
from traced_loop.testing import CountedClock, Spans, calls, counted_wiring, play

from ..skipping_time import skipping

S = StopReason
COST, TOKENS, CALLS, STEPS = (
    S.COST_BUDGET_EXCEEDED,
    S.TOKEN_BUDGET_EXCEEDED,
    S.TOOL_BUDGET_EXCEEDED,
    S.MAX_STEPS_EXCEEDED,
)
BEFORE_A_BATCH = (S.DEADLINE_EXCEEDED, COST, TOKENS, CALLS)
BEFORE_A_REQUEST = (S.DEADLINE_EXCEEDED, COST, TOKENS, STEPS)
AT_ONCE = (S.CANCELLED, S.DEADLINE_EXCEEDED, S.TOOL_TIMEOUT, S.TOOL_FAILED)
BY_OTHERS = (COST, TOKENS)
"""What other runs can overspend of a shared budget while this one waits for a tool."""

Stops = tuple[StopReason, ...]


def together(stops: Sequence[StopReason]) -> list[Stops]:
    """Two of them or more."""
    return [some for size in range(2, len(stops) + 1) for some in combinations(stops, size)]


def first(due: Iterable[StopReason]) -> StopReason:
    """The one that stands first in the order."""
    return min(due, key=STOP_PRECEDENCE.index)


def words(due: object) -> str:
    """A test's id."""
    return "-".join(map(str, due)) if isinstance(due, tuple) else str(due)


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def billed(given: int, *products: int) -> dict[str, Any]:
    """An answer that is billed so, with so many calls."""
    entries = [{"id": f"c{n}", "function": {"name": "multiply", "arguments": f'{{"a":{n},"b":7}}'}} for n in products]
    message = {"content": None, "tool_calls": entries}
    usage = {"prompt_tokens": given, "completion_tokens": 20}
    return {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}


NO_LIMITS: dict[str, Any] = {"seconds": None, "cost_usd": None, "tokens": None, "tool_calls": None, "steps": None}
LIMITS: dict[StopReason, tuple[str, Any]] = {
    S.DEADLINE_EXCEEDED: ("seconds", 60),
    COST: ("cost_usd", "0.001"),
    TOKENS: ("tokens", 900),
    CALLS: ("tool_calls", 1),
    STEPS: ("steps", 1),
}


def limited(due: Iterable[StopReason], **other: Any) -> Budget:
    """The limits behind these stops, and no others."""
    return Budget(**{**NO_LIMITS, **dict(LIMITS[stop] for stop in due), **other})


@pytest.mark.parametrize("due", together(BEFORE_A_BATCH), ids=words)
def test_of_limits_that_a_batch_meets(due: Stops) -> None:
    """The answer came after the deadline, was dearer and longer than was thought, and asks for too much."""
    clock = CountedClock()

    def dear(_: ModelRequest) -> Any:
        clock.advance(61)
        return billed(5_000, 1, 2)

    model = ScriptedModel([dear], price=Price(input=1, output=1))
    played = play([], [multiply], model=model, clock=clock, budget=limited(due))

    assert played.result.stop_reason is first(due)
    assert set(played.spans.outcomes()["c1"]) == {"skipped_budget"}


def before_the_second_request(due: Stops, act: Callable[[CountedClock], None]) -> tuple[RunResult, Spans]:
    """A run whose second request meets these limits, while its first step met none; ``act`` when it is refused."""
    clock, spans = CountedClock(), Spans()

    def told(event: Event) -> None:
        if isinstance(event, BudgetChecked) and event.phase == "step":
            clock.advance(61)
        if isinstance(event, BudgetChecked) and event.outcome == "exceeded":
            act(clock)

    model = ScriptedModel([billed(800, 1)], price=Price(input=1, output=1))
    loop = Loop(model, [multiply], budget=limited(due), on_event=told, wiring=counted_wiring(spans, clock))
    try:
        return loop.run("Go."), spans
    except KeyboardInterrupt as interrupt:
        left = partial_result(interrupt)
        assert left is not None
        return left, spans


@pytest.mark.parametrize("due", together(BEFORE_A_REQUEST), ids=words)
def test_of_limits_that_a_request_meets(due: Stops) -> None:
    """Between two steps time has passed, and what is left of the others is too little."""
    result, spans = before_the_second_request(due, lambda _: None)

    assert (result.stop_reason, result.usage.steps) == (first(due), 1)
    assert spans.named("traced_loop.check_budget")[-1].attributes["traced_loop.run.stop_reason"] == first(due)


@pytest.mark.parametrize("stop", [*BEFORE_A_REQUEST, CALLS], ids=words)
def test_a_cancellation_comes_before_every_limit(stop: StopReason) -> None:
    """Ctrl-C in the moment in which the limit is found."""

    def interrupt(_: CountedClock) -> None:
        raise KeyboardInterrupt

    if stop is CALLS:
        spans = Spans()

        def told(event: Event) -> None:
            if isinstance(event, BudgetChecked) and event.outcome == "exceeded":
                raise KeyboardInterrupt

        batch = ScriptedModel([billed(50, 1, 2)])
        loop = Loop(batch, [multiply], budget=limited([CALLS]), on_event=told, wiring=counted_wiring(spans))
        with pytest.raises(KeyboardInterrupt) as interrupted:
            loop.run("Go.")
        result = partial_result(interrupted.value)
        assert result is not None
    else:
        result, spans = before_the_second_request((stop,), interrupt)

    assert result.stop_reason is S.CANCELLED
    assert spans.open == []


@pytest.mark.parametrize("due", together(AT_ONCE), ids=words)
def test_of_what_happens_to_calls_that_run_together(due: Stops) -> None:
    """One is interrupted, one has its own time over, one all that the run had, one fails."""
    tools = {S.CANCELLED: interrupted, S.TOOL_TIMEOUT: short, S.DEADLINE_EXCEEDED: endless, S.TOOL_FAILED: failing}
    asked = [(tools[stop].__name__, {}) for stop in due]
    left: RunResult | None

    def run(wiring: Any, _: object) -> Any:
        model, budget = ScriptedModel([calls(*asked)]), Budget(seconds=5)
        return Loop(model, [*tools.values()], budget=budget, on_tool_error="stop", wiring=wiring).arun("Go.")

    try:
        left = skipping(run, Spans())
    except KeyboardInterrupt as leaving:
        left = partial_result(leaving)

    assert left is not None
    assert left.stop_reason is first(due)


@tool(effect="read")
async def interrupted() -> None:
    """Raise Ctrl-C, late."""
    await asyncio.sleep(4.5)
    raise KeyboardInterrupt


@tool(effect="read")
async def failing() -> None:
    """Fail."""
    raise ValueError


@tool(effect="read", timeout=4)
async def short() -> None:
    """Take longer than it may."""
    await asyncio.Event().wait()


@tool(effect="read", timeout=60)
async def endless() -> None:
    """Take longer than the run may."""
    await asyncio.Event().wait()


def writing(clock: CountedClock, act: Callable[[], None]) -> Any:
    """A write that takes a minute, does that, and loses its connection."""

    @tool(effect="write")
    def pay() -> None:
        """Pay."""
        clock.advance(61)
        act()
        raise ConnectionResetError

    return pay


def interrupt() -> None:
    """Ctrl-C inside of the write."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("act", "due"),
    [
        (lambda: None, (S.OUTCOME_UNKNOWN, S.DEADLINE_EXCEEDED)),
        (interrupt, (S.CANCELLED, S.OUTCOME_UNKNOWN)),
        (interrupt, (S.CANCELLED, S.OUTCOME_UNKNOWN, S.DEADLINE_EXCEEDED)),
    ],
    ids=["unknown-deadline", "cancelled-unknown", "cancelled-unknown-deadline"],
)
def test_of_what_happens_to_a_write(act: Callable[[], None], due: Stops) -> None:
    """It may have been applied, it took too long, and somebody interrupted it."""
    clock, spans = CountedClock(), Spans()
    budget = limited({S.DEADLINE_EXCEEDED} & {*due}, tool_seconds=5)
    loop = Loop(
        ScriptedModel([calls(("pay", {}))]),
        [writing(clock, act)],
        budget=budget,
        policy=Policy(confirm=lambda _: True),
        wiring=counted_wiring(spans, clock),
    )
    left: RunResult | None
    try:
        left = loop.run("Go.")
    except KeyboardInterrupt as leaving:
        left = partial_result(leaving)

    assert left is not None
    assert left.stop_reason is first(due)
    assert list(spans.outcomes().values()) == [["unknown"]]


def test_of_a_failed_call_and_what_nobody_knows_of_its_undoing() -> None:
    """A write was done, a call beside it failed, and the compensation lost its connection."""

    def unsave() -> None:
        raise ConnectionResetError

    @tool(effect="write", compensate=unsave)
    def save() -> None:
        """Save."""

    script = [calls(("save", {}), ("failing", {}))]
    policy = Policy(confirm=lambda _: True)
    played = play(script, [save, failing], policy=policy, on_tool_error="compensate")

    assert played.result.stop_reason is first((S.OUTCOME_UNKNOWN, S.TOOL_FAILED))


def overspent(team: SharedBudget) -> None:
    """Another run's answer was longer and dearer than it had reserved."""
    team.share().settle(Usage(tokens=10**6, charged_usd=Decimal(10)))


@pytest.mark.parametrize("stop", [S.OUTCOME_UNKNOWN, S.TOOL_TIMEOUT, S.TOOL_FAILED], ids=words)
@pytest.mark.parametrize("limits", [(COST,), (TOKENS,), (COST, TOKENS)], ids=words)
def test_of_what_others_overspend_while_a_call_runs(stop: StopReason, limits: Stops) -> None:
    """A shared budget is found passed after a call that ended badly."""
    shares = {COST: ("cost_usd", "1"), TOKENS: ("tokens", 100_000)}
    team = SharedBudget(**dict(shares[limit] for limit in limits))  # type: ignore[arg-type]

    @tool(effect="write" if stop is S.OUTCOME_UNKNOWN else "read", timeout=1)
    async def act() -> None:
        """Do something while others spend."""
        overspent(team)
        if stop is not S.TOOL_TIMEOUT:
            raise ConnectionResetError
        await asyncio.Event().wait()

    def run(wiring: Any, _: object) -> Any:
        model = ScriptedModel([calls(("act", {}))], price=Price(input=1, output=1))
        policy = Policy(confirm=lambda _: True)
        loop = Loop(model, [act], shared_budget=team, policy=policy, on_tool_error="stop", wiring=wiring)
        return loop.arun("Go.")

    assert skipping(run, Spans()).stop_reason is first((stop, *limits))


@pytest.mark.parametrize(("own", "shared"), [*permutations(BEFORE_A_REQUEST[1:], 2)], ids=words)
def test_of_a_limit_of_its_own_and_a_shared_one_that_a_request_meets(own: StopReason, shared: StopReason) -> None:
    """It makes no difference whose limit it is; nothing is left reserved."""
    name, number = LIMITS[shared]
    team = SharedBudget(**{name: number})
    model = ScriptedModel([billed(800, 1)], price=Price(input=1, output=1))

    played = play([], [multiply], model=model, budget=limited([own]), shared_budget=team)

    assert played.result.stop_reason is first((own, shared))
    assert ("shared" in played.result.stop_detail) is (first((own, shared)) is shared)
    assert team.reserved == NOTHING


@pytest.mark.parametrize(("own", "shared"), [(COST, CALLS), (CALLS, COST), (TOKENS, CALLS), (CALLS, TOKENS)], ids=words)
def test_of_a_limit_of_its_own_and_a_shared_one_that_a_batch_meets(own: StopReason, shared: StopReason) -> None:
    """Likewise."""
    name, number = LIMITS[shared]
    team = SharedBudget(**{name: number})
    model = ScriptedModel([billed(5_000, 1, 2)], price=Price(input=1, output=1))

    played = play([], [multiply], model=model, budget=limited([own]), shared_budget=team)

    assert (played.result.stop_reason, team.reserved) == (first((own, shared)), NOTHING)


LIMITS_PASSED: dict[str, Any] = {"tokens": 900, "seconds": 60}


def in_circles(due: Stops) -> tuple[RunResult | None, Spans]:
    """A run that makes one call again and again; at the fourth time these other stops are due, too."""
    clock, spans, seen = CountedClock(), Spans(), list[int]()
    shares = {COST: ("cost_usd", "1"), TOKENS: ("tokens", 100_000)}
    shared = dict(shares[stop] for stop in due if stop in shares)
    team = SharedBudget(**shared) if shared else None  # type: ignore[arg-type]

    @tool(effect="read")
    def look() -> str:
        """Look."""
        seen.append(1)
        if len(seen) == 4:
            clock.advance(61 if S.DEADLINE_EXCEEDED in due else 0)
            if team is not None:
                overspent(team)
        return "the same"

    def told(event: Event) -> None:
        if S.CANCELLED in due and isinstance(event, BudgetChecked) and event.phase == "step" and len(seen) == 4:
            raise KeyboardInterrupt

    model = ScriptedModel([calls(("look", {}))] * 4, price=Price(input=1, output=1))
    budget = limited({S.DEADLINE_EXCEEDED} & {*due})
    loop = Loop(model, [look], budget=budget, shared_budget=team, on_event=told, wiring=counted_wiring(spans, clock))
    try:
        return loop.run("Go."), spans
    except KeyboardInterrupt as interrupt:
        return partial_result(interrupt), spans


WITH_REPETITION = (S.CANCELLED, S.DEADLINE_EXCEEDED, COST, TOKENS)


@pytest.mark.parametrize("others", [(), *[(one,) for one in WITH_REPETITION], *together(WITH_REPETITION)], ids=words)
def test_of_a_repetition_and_what_is_due_with_it(others: Stops) -> None:
    """Everything that a check after a step can find ranks above it."""
    result, spans = in_circles(others)

    assert result is not None
    assert result.stop_reason is first((S.REPETITION_DETECTED, *others))
    assert (len(spans.named("execute_tool")), spans.open) == (4, [])


VERDICTS: dict[StopReason, dict[str, Any]] = {
    S.FINAL_ANSWER: {"content": "42"},
    S.REFUSED: {"content": None, "refusal": "I cannot."},
    S.EMPTY_RESPONSE: {"content": ""},
}


@pytest.mark.parametrize("verdict", VERDICTS, ids=words)
def test_a_verdict_on_an_answer_stands_over_every_limit_that_is_passed_with_it(verdict: StopReason) -> None:
    """More time or more tokens would have made no difference."""
    clock = CountedClock()

    def late(_: ModelRequest) -> Any:
        clock.advance(61)
        usage = {"prompt_tokens": 5_000, "completion_tokens": 20}
        return {"choices": [{"message": VERDICTS[verdict], "finish_reason": "stop"}], "usage": usage}

    played = play([late], clock=clock, budget=Budget(**LIMITS_PASSED))

    assert played.result.stop_reason is verdict
    last = played.spans.named("traced_loop.check_budget")[-1].attributes
    assert last["traced_loop.budget.outcome"] == "exceeded"
    assert "traced_loop.run.stop_reason" not in last


NEVER_TOGETHER: dict[frozenset[StopReason], str] = {
    frozenset({S.OUTCOME_UNKNOWN, CALLS}): "a batch over its limit runs no write",
    frozenset({S.OUTCOME_UNKNOWN, S.TOOL_TIMEOUT}): "a write runs alone, and nothing after a stop",
    frozenset({S.OUTCOME_UNKNOWN, STEPS}): "no request is made after it",
    frozenset({CALLS, S.TOOL_TIMEOUT}): "a batch over its limit runs nothing",
    frozenset({CALLS, STEPS}): "one is asked before a batch, one before a request",
    frozenset({S.TOOL_TIMEOUT, STEPS}): "no request is made after it",
    frozenset({S.TOOL_FAILED, STEPS}): "no request is made after it",
    frozenset({S.TOOL_FAILED, CALLS}): "a batch over its limit runs nothing",
    frozenset({S.REPETITION_DETECTED, STEPS}): "no request is made after it",
    frozenset({S.REPETITION_DETECTED, CALLS}): "a batch over its limit runs nothing that could be a repetition",
    frozenset({S.REPETITION_DETECTED, S.OUTCOME_UNKNOWN}): "a write that may have been applied is never made again",
    frozenset({S.REPETITION_DETECTED, S.TOOL_TIMEOUT}): "a timeout that stops is the first",
    frozenset({S.REPETITION_DETECTED, S.TOOL_FAILED}): "an error that stops is the first",
}
TOGETHER: list[Stops] = [
    *together(BEFORE_A_BATCH),
    *together(BEFORE_A_REQUEST),
    *together(AT_ONCE),
    *[(S.CANCELLED, stop) for stop in (*BEFORE_A_REQUEST, CALLS, S.OUTCOME_UNKNOWN)],
    *[(S.REPETITION_DETECTED, stop) for stop in WITH_REPETITION],
    (S.OUTCOME_UNKNOWN, S.DEADLINE_EXCEEDED),
    (S.OUTCOME_UNKNOWN, S.TOOL_FAILED),
    *[(stop, limit) for stop in (S.OUTCOME_UNKNOWN, S.TOOL_TIMEOUT, S.TOOL_FAILED) for limit in BY_OTHERS],
]


def test_every_pair_of_stops_is_played_or_cannot_be() -> None:
    """Whoever adds a stop to the order adds its pairs."""
    pairs = {frozenset(pair) for pair in combinations(STOP_PRECEDENCE, 2)}

    played = {frozenset(some) for some in TOGETHER if len(some) == 2}
    assert played | {*NEVER_TOGETHER} == pairs
    assert not played & {*NEVER_TOGETHER}
