"""Every limit one below its number, at it, and one above: the limit is the last number that is allowed."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from traced_loop import Budget, Loop, Price, RunResult, ScriptedModel, StopReason, tool
from traced_loop.messages import ModelRequest
from traced_loop.outcomes import STOP_PRECEDENCE
from traced_loop.testing import CountedClock, Spans, calls, play

from ..skipping_time import skipping

FINAL = StopReason.FINAL_ANSWER


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def products(number: int) -> Any:
    """So many calls in one answer."""
    return calls(*[("multiply", {"a": n, "b": 7}) for n in range(number)])


@pytest.mark.parametrize(
    ("requests", "reason", "ran"), [(2, FINAL, 1), (3, FINAL, 2), (4, StopReason.MAX_STEPS_EXCEEDED, 3)]
)
def test_three_steps_are_three_requests(requests: int, reason: StopReason, ran: int) -> None:
    """The tools of the last one run; the check before the fourth stops."""
    script = [*[products(1)] * (requests - 1), "42"][:3]

    played = play(script, [multiply], budget=Budget(steps=3))

    assert (played.result.stop_reason, played.result.usage.tool_calls) == (reason, ran)
    assert len(played.model.requests) == min(requests, 3)


@pytest.mark.parametrize(
    ("batches", "reason", "ran"),
    [
        ((5,), FINAL, 5),
        ((6,), FINAL, 6),
        ((7,), StopReason.TOOL_BUDGET_EXCEEDED, 0),
        ((4, 2), FINAL, 6),
        ((4, 3), StopReason.TOOL_BUDGET_EXCEEDED, 4),
    ],
)
def test_six_tool_calls_are_six(batches: tuple[int, ...], reason: StopReason, ran: int) -> None:
    """A batch that would make seven runs none of its calls."""
    script = [*[products(number) for number in batches], *(["42"] if reason is FINAL else [])]

    played = play(script, [multiply], budget=Budget(tool_calls=6))

    assert (played.result.stop_reason, played.result.usage.tool_calls) == (reason, ran)


def billed(given: int, answer: int, text: str | None = None) -> Mapping[str, Any]:
    """An answer that is billed so: one call, or a text."""
    function = {"name": "multiply", "arguments": '{"a":6,"b":7}'}
    wanted = {"tool_calls": [{"id": "c1", "function": function}]} if text is None else {}
    return {
        "choices": [{"message": {"content": text, **wanted}, "finish_reason": "stop" if text else "tool_calls"}],
        "usage": {"prompt_tokens": given, "completion_tokens": answer},
    }


@pytest.mark.parametrize(("last", "reason"), [(-1, StopReason.TOKEN_BUDGET_EXCEEDED), (0, FINAL), (1, FINAL)])
def test_a_request_is_sent_while_it_and_one_token_fit(last: int, reason: StopReason) -> None:
    """At exactly its number the answer is capped at one token; one less, and nothing is sent."""
    probe = play([billed(500, 20), billed(500, 1, "4")], [multiply], budget=Budget(tokens=100_000))
    second = probe.spans.named("traced_loop.check_budget")[3].attributes
    needed = 520 + second["traced_loop.budget.reserved_tokens"] - 16_384 + 1

    script = [billed(500, 20), *([billed(500, 1, "4")] if reason is FINAL else [])]
    played = play(script, [multiply], budget=Budget(tokens=needed + last))

    assert played.result.stop_reason is reason
    if reason is FINAL:
        assert played.model.requests[1].output_cap == 1 + last


@pytest.mark.parametrize(("last", "reason"), [(-1, StopReason.COST_BUDGET_EXCEEDED), (0, FINAL), (1, FINAL)])
def test_a_request_is_sent_while_it_and_one_token_can_be_paid(last: int, reason: StopReason) -> None:
    """To a millionth of a dollar, which a token costs here."""
    price = Price(input=1, output=1)
    probe = play([], [multiply], model=ScriptedModel([billed(500, 20), billed(500, 1, "4")], price=price))
    second = probe.spans.named("traced_loop.check_budget")[3].attributes
    needed = 520 + second["traced_loop.budget.reserved_tokens"] - 16_384 + 1

    script = [billed(500, 20), *([billed(500, 1, "4")] if reason is FINAL else [])]
    cost = Decimal(needed + last) / 1_000_000
    played = play([], [multiply], model=ScriptedModel(script, price=price), budget=Budget(cost_usd=cost))

    assert played.result.stop_reason is reason


@pytest.mark.parametrize(
    ("took", "reason"), [(59.0, FINAL), (60.0, StopReason.DEADLINE_EXCEEDED), (61.0, StopReason.DEADLINE_EXCEEDED)]
)
def test_a_run_is_over_once_its_seconds_have_passed(took: float, reason: StopReason) -> None:
    """At sixty of sixty nothing else begins."""
    clock = CountedClock()
    begun = clock.seconds()

    def late(_: ModelRequest) -> Any:
        clock.advance(begun + took - clock.seconds())
        return products(1)

    script = [late, *(["42"] if reason is FINAL else [])]
    played = play(script, [multiply], clock=clock, budget=Budget(seconds=60))

    assert played.result.stop_reason is reason


def skipped(script: list[Any], budget: Budget, tools: list[Any]) -> RunResult:
    """A run on a loop that waits for nothing."""
    return skipping(
        lambda wiring, _: Loop(ScriptedModel(script), tools, budget=budget, wiring=wiring).arun("Go."), Spans()
    )


@pytest.mark.parametrize(
    ("takes", "reason"), [(29, FINAL), (30, StopReason.TOOL_TIMEOUT), (31, StopReason.TOOL_TIMEOUT)]
)
def test_a_call_is_over_once_its_seconds_have_passed(takes: int, reason: StopReason) -> None:
    """And the longest one is what is used of the limit."""

    @tool(effect="read")
    async def read() -> None:
        """Take some time."""
        await asyncio.sleep(takes)

    result = skipped([calls(("read", {})), "42"], Budget(tool_seconds=30), [read])

    assert result.stop_reason is reason
    assert result.headroom["tool_seconds"].used == pytest.approx(min(takes, 30))


def test_a_call_with_a_timeout_of_its_own_does_not_count() -> None:
    """The limit is not that call's."""

    @tool(effect="read", timeout=50)
    async def read() -> None:
        """Take some time."""
        await asyncio.sleep(40)

    result = skipped([calls(("read", {})), "42"], Budget(tool_seconds=30), [read])

    assert (result.stop_reason, result.headroom["tool_seconds"].used) == (FINAL, 0)


@pytest.mark.parametrize(
    ("takes", "reason"), [(119, FINAL), (120, StopReason.MODEL_ERROR), (121, StopReason.MODEL_ERROR)]
)
def test_a_request_is_over_once_its_seconds_have_passed(takes: int, reason: StopReason) -> None:
    """And the longest one is what is used of the limit."""

    async def slow(_: ModelRequest) -> str:
        await asyncio.sleep(takes)
        return "42"

    result = skipped([slow], Budget(request_seconds=120), [])

    assert result.stop_reason is reason
    assert result.headroom["request_seconds"].used == pytest.approx(min(takes, 120))


def test_of_limits_that_are_passed_together_the_order_of_stops_decides() -> None:
    """The deadline before cost, before tokens; each in turn where the one before it is not set."""
    limits: dict[str, Any] = {"seconds": 60, "cost_usd": "0.001", "tokens": 900, "tool_calls": 1, "steps": 1}
    found: list[StopReason] = []
    for name in list(limits):
        clock = CountedClock()

        def dear(_: ModelRequest, clock: CountedClock = clock) -> Any:
            clock.advance(61)
            return billed(5_000, 20)

        budget = Budget(**{"tokens": None, "tool_calls": None, "seconds": None, "steps": None, **limits})
        model = ScriptedModel([dear], price=Price(input=1, output=1))
        found.append(play([], [multiply], model=model, clock=clock, budget=budget).result.stop_reason)
        del limits[name]
        if name == "tokens":
            break
    assert found == [each for each in STOP_PRECEDENCE if each in found]
    assert len(set(found)) == 3
