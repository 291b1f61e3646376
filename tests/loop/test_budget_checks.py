"""What the checks of a run's limits show: reserved before, settled after, warnings once, shared budgets beside."""

import asyncio
import threading
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from traced_loop import (
    Approved,
    Budget,
    Loop,
    Pending,
    Policy,
    Price,
    RunResult,
    ScriptedModel,
    SharedBudget,
    StopReason,
    UsageError,
    partial_result,
    tool,
)
from traced_loop.events import BudgetChecked, BudgetWarned, Event, ModelAnswered
from traced_loop.messages import ModelRequest
from traced_loop.rules.budget import NOTHING
from traced_loop.testing import CountedClock, Played, Spans, calls, counted_wiring, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


PRODUCT = calls(("multiply", {"a": 6, "b": 7}))
PRICE = Price(input=1, output=1)


def checks(played: Played, phase: str) -> list[dict[str, Any]]:
    """What the checks of a phase say, without prefixes."""
    prefix = "traced_loop.budget."
    found = [span.attributes for span in played.spans.named("traced_loop.check_budget")]
    return [
        {key.removeprefix(prefix): value for key, value in each.items()}
        for each in found
        if each[f"{prefix}phase"] == phase
    ]


def test_what_is_reserved_is_settled_after_the_step() -> None:
    """Request and batch before, what was billed after, side by side."""
    model = ScriptedModel([PRODUCT, "42"], price=PRICE)
    played = play([], [multiply], model=model, budget=Budget(cost_usd=1, seconds=60, request_seconds=50))

    request, batch, step = checks(played, "request")[0], checks(played, "batch")[0], checks(played, "step")[0]
    assert request["reserved_microusd"] == request["reserved_tokens"] > 16_384
    assert request["expected_tokens"] == request["reserved_tokens"] - 16_384
    assert request["reserved_seconds"] == 50
    assert (batch["reserved_calls"], batch["reserved_seconds"]) == (1, 30)
    assert (step["reserved_tokens"], step["reserved_calls"]) == (request["reserved_tokens"], 1)
    assert 0 < step["settled_tokens"] == step["settled_microusd"] < request["reserved_tokens"]
    assert (step["settled_calls"], step["settled_seconds"]) == (1, pytest.approx(0.018, abs=0.01))
    settled = [each["settled_tokens"] for each in checks(played, "step")]
    assert sum(settled) == played.result.usage.tokens


def test_a_batch_reserves_the_time_of_what_runs_one_after_the_other() -> None:
    """Reads share a group's longest time; never more than the run has left."""

    @tool(effect="read", timeout=20, serial_group="disk")
    def disk() -> None:
        """Use the disk."""

    reads = calls(("multiply", {"a": 1, "b": 1}), ("multiply", {"a": 2, "b": 2}))
    together = play([reads, "42"], [multiply], budget=Budget(tool_seconds=25))
    serial = play([calls(("disk", {}), ("disk", {})), "42"], [disk])
    late = play([calls(("disk", {}), ("disk", {})), "42"], [disk], budget=Budget(seconds=30))

    assert [checks(each, "batch")[0]["reserved_seconds"] for each in (together, serial)] == [25, 40]
    assert 29 < checks(late, "batch")[0]["reserved_seconds"] < 30


def test_a_warning_is_told_once_for_each_limit() -> None:
    """On the span of the check that found it, and as an event."""
    events: list[Event] = []

    played = play(
        [PRODUCT, PRODUCT, PRODUCT, "42"], [multiply], budget=Budget(steps=4, warn_at=0.5), on_event=events.append
    )

    warned = [event for event in events if isinstance(event, BudgetWarned)]
    assert warned == [BudgetWarned(limit="steps", fraction=0.5)]
    outcomes = [event.outcome for event in events if isinstance(event, BudgetChecked)]
    assert outcomes.count("warning") == 1
    shown = [s.attributes.get("traced_loop.budget.warned") for s in played.spans.named("traced_loop.check_budget")]
    assert [limits for limits in shown if limits] == ["steps"]
    assert played.spans.named("invoke_agent")[0].attributes["traced_loop.budget.warn_at"] == 0.5


def test_without_warn_at_nobody_is_warned() -> None:
    """And nothing says that somebody would be."""
    events: list[Event] = []

    played = play([PRODUCT], [multiply], budget=Budget(steps=1, warn_at=None), on_event=events.append)

    assert not any(isinstance(event, BudgetWarned) for event in events)
    assert "traced_loop.budget.warn_at" not in played.spans.named("invoke_agent")[0].attributes


def test_a_shared_budget_stops_the_run_that_would_pass_it() -> None:
    """The detail, the check and the root name it; the result says how far it was from its limits."""
    team = SharedBudget(steps=3, name="team")

    first = play([PRODUCT, "42"], [multiply], shared_budget=team)
    second = play([PRODUCT], [multiply], shared_budget=team)

    result = second.result
    assert first.result.answer == "42"
    assert result.stop_reason is StopReason.MAX_STEPS_EXCEEDED
    assert result.stop_detail == "the shared budget team allows no more: its limit is steps=3"
    assert (result.headroom["shared.steps"].used, result.next_limit) == (3, "shared.steps")
    refused = checks(second, "request")[-1]
    assert (refused["outcome"], refused["exceeded"], refused["shared.name"]) == ("exceeded", "shared.steps", "team")
    assert (refused["shared.steps.limit"], refused["shared.steps.used"], refused["shared.steps.reserved"]) == (3, 3, 0)
    root = second.spans.named("invoke_agent")[0].attributes
    assert root["traced_loop.budget.shared.name"] == "team"
    assert (root["traced_loop.budget.shared.steps.limit"], root["traced_loop.budget.shared.steps.remaining"]) == (3, 0)
    assert team.reserved == NOTHING


def test_a_batch_over_a_shared_limit_runs_none_of_its_calls() -> None:
    """As with a limit of the run's own."""
    team = SharedBudget(tool_calls=1)
    both = calls(("multiply", {"a": 1, "b": 1}), ("multiply", {"a": 2, "b": 2}))

    played = play([both], [multiply], shared_budget=team)

    assert (played.result.stop_reason, played.result.usage.tool_calls) == (StopReason.TOOL_BUDGET_EXCEEDED, 0)
    assert (team.spent.tool_calls, team.reserved) == (0, NOTHING)


def test_a_run_may_share_another_budget_than_its_loop() -> None:
    """The run's word stands."""
    loop_wide, day = SharedBudget(steps=5, name="loop"), SharedBudget(steps=5, name="day")
    loop = Loop(ScriptedModel(["1", "2"]), shared_budget=loop_wide, store=None)

    loop.run("Go.")
    loop.run("Go.", shared_budget=day)

    assert (loop_wide.spent.steps, day.spent.steps) == (1, 1)


def test_an_unpriced_model_cannot_share_a_cost_limit() -> None:
    """Unknown is never zero: an error before the run."""
    loop = Loop(ScriptedModel(["42"]), shared_budget=SharedBudget(cost_usd=1), store=None)

    with pytest.raises(UsageError, match="price"):
        loop.run("Go.")


def raising(event: Event) -> None:
    """A callback that raises once the model has answered."""
    if isinstance(event, ModelAnswered):
        raise ZeroDivisionError


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), asyncio.CancelledError()], ids=repr)
def test_a_run_that_is_left_by_an_exception_leaves_nothing_reserved(error: BaseException) -> None:
    """Raised by the model, in the middle of a request."""
    team = SharedBudget(tokens=100_000, cost_usd=1)
    loop = Loop(ScriptedModel([error], price=PRICE), shared_budget=team, store=None)

    with suppress(BaseException):  # a model's own cancellation is a value
        loop.run("Go.")
    assert team.reserved == NOTHING


def test_a_raising_callback_leaves_nothing_reserved_and_what_was_billed_counted() -> None:
    """Between the answer and its check."""
    team = SharedBudget(tokens=100_000)

    with pytest.raises(ZeroDivisionError) as raised:
        Loop(ScriptedModel(["42"]), shared_budget=team, on_event=raising, store=None).run("Go.")

    left = partial_result(raised.value)
    assert left is not None
    assert (team.spent.tokens, team.reserved) == (left.usage.tokens, NOTHING)


def test_a_cancelled_run_leaves_nothing_reserved() -> None:
    """While it waits for the model."""
    team = SharedBudget(tokens=100_000)

    async def cancelled() -> int:
        asked = asyncio.Event()

        async def hangs(_: ModelRequest) -> str:
            asked.set()
            await asyncio.Event().wait()
            return "never"

        task = asyncio.create_task(Loop(ScriptedModel([hangs]), shared_budget=team, store=None).arun("Go."))
        await asked.wait()
        held = team.reserved.tokens
        task.cancel()
        await asyncio.wait([task])
        return held

    assert asyncio.run(cancelled()) > 0
    assert team.reserved == NOTHING


def test_a_request_that_is_timed_out_leaves_nothing_reserved() -> None:
    """The run ends at its deadline."""
    team = SharedBudget(tokens=100_000)

    async def hangs(_: ModelRequest) -> str:
        await asyncio.Event().wait()
        return "never"

    budget = Budget(seconds=0.5)
    result = Loop(ScriptedModel([hangs]), shared_budget=team, budget=budget, store=None).run("Go.")

    assert (result.stop_reason, team.reserved) == (StopReason.DEADLINE_EXCEEDED, NOTHING)


def spender() -> Loop:
    """A loop that calls a tool for ever."""

    def answer(request: ModelRequest) -> Any:
        function = {"name": "multiply", "arguments": '{"a":6,"b":7}'}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}
        spent = min(40, request.output_cap or 40)
        usage = {"prompt_tokens": 10 * len(request.messages), "completion_tokens": spent}
        return {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}

    parameters = {"max_tokens": 40}
    return Loop(
        ScriptedModel([answer] * 40, price=PRICE), [multiply], request=parameters, store=None, repetition="observe"
    )


def within(team: SharedBudget, results: list[RunResult]) -> None:
    """Nothing is over, nothing is left reserved, and what was spent is what the runs say."""
    assert team.reserved == NOTHING
    for name, room in team.headroom().items():
        assert room.used <= room.limit, name
    assert team.spent.tokens == sum(each.usage.tokens for each in results)
    assert team.spent.steps == sum(each.usage.steps for each in results)
    assert team.spent.tool_calls == sum(each.usage.tool_calls for each in results)
    assert team.spent.cost_usd == sum((each.usage.charged_usd for each in results), Decimal(0))
    assert any("team" in each.stop_detail for each in results)


LIMITS: list[dict[str, Any]] = [{"tokens": 20_000}, {"cost_usd": "0.02"}, {"tool_calls": 50}, {"steps": 50}]


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: next(iter(limits)))
def test_thirty_two_threads_never_pass_a_shared_budget(limits: dict[str, Any]) -> None:
    """Each with a run of its own."""
    team, results = SharedBudget(**limits, name="team"), list[RunResult]()
    threads = [
        threading.Thread(target=lambda: results.append(spender().run("Go.", shared_budget=team))) for _ in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 32
    within(team, results)


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: next(iter(limits)))
def test_thirty_two_tasks_never_pass_a_shared_budget(limits: dict[str, Any]) -> None:
    """On one event loop."""
    team = SharedBudget(**limits, name="team")

    async def together() -> list[RunResult]:
        return list(await asyncio.gather(*[spender().arun("Go.", shared_budget=team) for _ in range(32)]))

    results = asyncio.run(together())

    assert len(results) == 32
    within(team, results)


def test_a_last_request_has_its_room_in_a_shared_budget() -> None:
    """Set aside from the first request on; at the end nothing is."""
    team = SharedBudget(tokens=40_000)
    played = play([PRODUCT, "42 so far."], [multiply], shared_budget=team, budget=Budget(steps=1, last_request=True))

    assert (played.result.partial, team.reserved) == ("42 so far.", NOTHING)
    assert checks(played, "step")[0]["shared.tokens.reserved"] == checks(played, "request")[0]["kept_tokens"]


def test_a_person_who_takes_long_costs_the_run_no_time() -> None:
    """The wait is measured apart, on the run and in the result; the deadline counts active time."""
    clock = CountedClock()

    @tool(effect="write")
    def send() -> str:
        """Send."""
        return "sent"

    def confirm(_: Pending) -> Approved:
        clock.advance(3_600)
        return Approved(by="ann")

    played = play([calls(("send", {})), "Sent."], [send], clock=clock, policy=Policy(confirm=confirm))

    assert played.result.answer == "Sent."
    assert played.result.usage.waited_seconds == pytest.approx(3_600)
    assert played.result.usage.seconds < 1
    assert played.spans.named("invoke_agent")[0].attributes["traced_loop.run.waited_ms"] == 3_600_000


def test_a_wait_that_an_exception_ends_was_a_wait_too() -> None:
    """The approver raises after an hour."""
    clock, spans = CountedClock(), Spans()

    @tool(effect="write")
    def send() -> None:
        """Send."""

    def confirm(_: Pending) -> bool:
        clock.advance(3_600)
        raise ZeroDivisionError

    loop = Loop(
        ScriptedModel([calls(("send", {}))]),
        [send],
        policy=Policy(confirm=confirm),
        wiring=counted_wiring(spans, clock),
    )
    with pytest.raises(ZeroDivisionError) as raised:
        loop.run("Go.")

    left = partial_result(raised.value)
    assert left is not None
    assert left.usage.waited_seconds == pytest.approx(3_600, abs=0.1)
    assert left.usage.seconds < 1


def test_a_root_with_everything_stays_within_its_attributes() -> None:
    """Five limits, a shared budget with two, a session, a warning, a failure: nothing gives way."""
    team = SharedBudget(tokens=10, cost_usd=1, name="team")
    model = ScriptedModel([], price=PRICE)

    played = play([], model=model, budget=Budget(cost_usd=1), shared_budget=team, session_id="s-1")

    root = played.spans.named("invoke_agent")[0].attributes
    assert played.result.stop_reason is StopReason.TOKEN_BUDGET_EXCEEDED
    assert len(root) <= 60
    assert played.result.receipt.values_truncated == 0
