"""One table of all limits: a run that needs exactly so much, with one less, just that, and one more."""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

import pytest

from traced_loop import Budget, Loop, Price, RunResult, ScriptedModel, SharedBudget, StopReason, tool
from traced_loop.messages import ModelRequest
from traced_loop.testing import CountedClock, Spans, calls, play

from ..skipping_time import skipping

S = StopReason
MICRO = Decimal("0.000001")
PRICE = Price(input=1, output=1)
"""A token costs a millionth of a dollar."""


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


THREE = calls(*[("multiply", {"a": n, "b": 7}) for n in range(3)])


def billed(text: str | None, answer: int) -> dict[str, Any]:
    """An answer that is billed 500 tokens and these: a text or a call."""
    function = {"name": "multiply", "arguments": '{"a":6,"b":7}'}
    message = {"content": text} if text else {"content": None, "tool_calls": [{"id": "c1", "function": function}]}
    usage = {"prompt_tokens": 500, "completion_tokens": answer}
    return {"choices": [{"message": message, "finish_reason": "stop" if text else "tool_calls"}], "usage": usage}


def in_two_steps(**options: Any) -> RunResult:
    """A run that is billed 520 tokens, and whose second request takes an estimated input and one token."""
    model = ScriptedModel([billed(None, 20), billed("4", 1)], price=PRICE)
    return Loop(model, [multiply], store=None, **options).run("Go.")


def tokens_needed() -> int:
    """What that run needs: known from the check that admits its second request with the longest answer."""
    model = ScriptedModel([billed(None, 20), billed("4", 1)], price=PRICE)
    second = play([], [multiply], model=model).spans.named("traced_loop.check_budget")[3].attributes
    return int(520 + second["traced_loop.budget.reserved_tokens"] - 16_384 + 1)


def counted(limit: str, shared: bool) -> Callable[[Any], dict[str, Any]]:
    """Options of a loop with that limit alone, its own or a shared one."""

    def options(number: Any) -> dict[str, Any]:
        no_limits: dict[str, Any] = dict.fromkeys(("steps", "tool_calls", "tokens", "seconds"))
        if shared:
            return {"budget": Budget(**no_limits), "shared_budget": SharedBudget(**{limit: number})}
        return {"budget": Budget(**{**no_limits, limit: number})}

    return options


def with_three_calls(**options: Any) -> RunResult:
    """A run whose first answer holds three calls."""
    return Loop(ScriptedModel([THREE, "42"]), [multiply], store=None, **options).run("Go.")


def of_sixty_seconds(**options: Any) -> RunResult:
    """A run whose model takes a minute, to the millisecond of the check after it."""
    clock = CountedClock()
    begun = clock.seconds()

    def slow(_: ModelRequest) -> Any:
        clock.advance(begun + 60 - clock.seconds())
        return THREE

    script = [slow, *(["42"] if options["budget"].seconds > 60 else [])]
    return play(script, [multiply], clock=clock, **options).result


def waiting(request: float = 0, call: float = 0) -> Callable[..., RunResult]:
    """A run whose request or whose call takes so long."""

    async def slow(_: ModelRequest) -> Any:
        await asyncio.sleep(request)
        return calls(("read", {})) if call else "42"

    @tool(effect="read")
    async def read() -> None:
        """Take some time."""
        await asyncio.sleep(call)

    def run(**options: Any) -> RunResult:
        model = ScriptedModel([slow, "42"])
        return skipping(lambda wiring, _: Loop(model, [read], wiring=wiring, **options).arun("Go."), Spans())

    return run


@dataclass(frozen=True)
class Row:
    """One limit.

    Attributes:
        run: a run, given the options of its loop.
        options: with this number as the limit.
        needs: what the run needs, exactly.
        one: the smallest amount.
        stop: how a run ends that has too little.
        enough: whether exactly what it needs is enough: for counts it is, time is over once it has passed.
    """

    run: Callable[..., RunResult]
    options: Callable[[Any], dict[str, Any]]
    needs: Callable[[], Any]
    stop: StopReason
    one: Any = 1
    enough: bool = True


def rows(prefix: str) -> dict[str, Row]:
    """The limits of amounts, of a run's own or shared."""
    own = {
        "steps": Row(in_two_steps, counted("steps", bool(prefix)), lambda: 2, S.MAX_STEPS_EXCEEDED),
        "tool_calls": Row(with_three_calls, counted("tool_calls", bool(prefix)), lambda: 3, S.TOOL_BUDGET_EXCEEDED),
        "tokens": Row(in_two_steps, counted("tokens", bool(prefix)), tokens_needed, S.TOKEN_BUDGET_EXCEEDED),
        "cost_usd": Row(
            in_two_steps,
            counted("cost_usd", bool(prefix)),
            lambda: tokens_needed() * MICRO,
            S.COST_BUDGET_EXCEEDED,
            one=MICRO,
        ),
    }
    return {f"{prefix}{name}": row for name, row in own.items()}


TABLE: dict[str, Row] = {
    **rows(""),
    **rows("shared."),
    "seconds": Row(of_sixty_seconds, counted("seconds", False), lambda: 60, S.DEADLINE_EXCEEDED, enough=False),
    "request_seconds": Row(
        waiting(request=50), counted("request_seconds", False), lambda: 50, S.MODEL_ERROR, enough=False
    ),
    "tool_seconds": Row(waiting(call=50), counted("tool_seconds", False), lambda: 50, S.TOOL_TIMEOUT, enough=False),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_limit_holds_at_exactly_its_number(name: str) -> None:
    """With one less the run stops for it, with one more it does not; a time is over once it has passed."""
    row = TABLE[name]
    needs = row.needs()

    found = [row.run(**row.options(number)).stop_reason for number in (needs - row.one, needs, needs + row.one)]

    assert found == [row.stop, S.FINAL_ANSWER if row.enough else row.stop, S.FINAL_ANSWER]


@pytest.mark.parametrize("name", [name for name in TABLE if not name.endswith("_seconds")])
def test_a_run_that_a_limit_stops_has_passed_none(name: str) -> None:
    """What is used is within the limit, or has reached it where it is a time."""
    row = TABLE[name]

    result = row.run(**row.options(row.needs() - row.one))

    room = result.headroom[name]
    assert room.used <= room.limit or name == "seconds"
    assert result.next_limit == name


def test_every_limit_is_in_the_table() -> None:
    """Whoever adds one adds a row."""
    own = {field.name for field in fields(Budget)} - {"warn_at", "last_request"}
    shared = {*inspect.signature(SharedBudget).parameters} - {"name", "warn_at"}

    assert {*TABLE} == own | {f"shared.{name}" for name in shared}
