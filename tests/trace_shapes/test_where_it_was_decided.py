"""The same stop can be decided in several places: the span that decided it says so, beside the root."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from traced_loop import Budget, Loop, Policy, Price, RunResult, ScriptedModel, StopReason, names, partial_result, tool
from traced_loop.messages import ModelRequest
from traced_loop.testing import Spans, calls

from ..skipping_time import ThreadWork, skipping

S = StopReason


@tool(effect="read")
async def look(seconds: float = 0) -> None:
    """Look, for that long."""
    await asyncio.sleep(seconds)


@tool(effect="read", timeout=4)
async def glance() -> None:
    """Never come back."""
    await asyncio.Event().wait()


@tool(effect="write", timeout=4, key=lambda: "the only one")
async def pay() -> None:
    """Never come back, and swallow being told to."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@tool(effect="write")
async def lose() -> None:
    """Lose the connection."""
    raise ConnectionResetError


@tool(effect="read")
async def leave() -> None:
    """Exit."""
    raise SystemExit(3)


@tool(effect="write", timeout=20)
async def save() -> None:
    """Save, with all the time in the world."""


def after(seconds: float, line: Any) -> Any:
    """An answer that takes so long."""

    async def give(_: ModelRequest) -> Any:
        await asyncio.sleep(seconds)
        return line

    return give


def body(finish: str, **message: Any) -> dict[str, Any]:
    """A response."""
    usage = {"prompt_tokens": 400, "completion_tokens": 100}
    return {"choices": [{"message": {"content": None, **message}, "finish_reason": finish}], "usage": usage}


def cut(request: ModelRequest) -> dict[str, Any]:
    """An answer that breaks off at the cap that was sent."""
    usage = {"prompt_tokens": 10, "completion_tokens": request.output_cap}
    return {"choices": [{"message": {"content": "It is"}, "finish_reason": "length"}], "usage": usage}


A_CALL = [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]


@dataclass(frozen=True)
class Way:
    """How a run comes to its stop.

    Attributes:
        stop: the reason.
        where: the span that decides it.
        script: what the model answers.
        limits: of the budget.
        options: of the loop.
    """

    stop: StopReason
    where: str
    script: list[Any]
    limits: dict[str, Any] = field(default_factory=dict[str, Any])
    options: dict[str, Any] = field(default_factory=dict[str, Any])


CHECK, CHAT, EXECUTE = names.CHECK_BUDGET, "chat", names.EXECUTE_TOOL
VALIDATE, AUTHORIZE = names.VALIDATE_CALL, names.AUTHORIZE_CALL
WAYS: dict[str, Way] = {
    "time_over_in_a_request": Way(S.DEADLINE_EXCEEDED, CHAT, [after(60, "42")], {"seconds": 5}),
    "time_over_in_a_call": Way(S.DEADLINE_EXCEEDED, EXECUTE, [calls(("look", {"seconds": 60}))], {"seconds": 5}),
    "too_little_time_for_a_write": Way(S.DEADLINE_EXCEEDED, AUTHORIZE, [calls(("save", {}))], {"seconds": 5}),
    "request_too_slow": Way(S.MODEL_ERROR, CHAT, [after(60, "42")], {"request_seconds": 5}),
    "call_too_slow": Way(S.TOOL_TIMEOUT, EXECUTE, [calls(("look", {"seconds": 60}))], {"tool_seconds": 5}),
    "call_slower_than_it_says": Way(S.TOOL_TIMEOUT, EXECUTE, [calls(("glance", {}))]),
    "write_too_slow": Way(S.OUTCOME_UNKNOWN, EXECUTE, [calls(("pay", {}))]),
    "write_that_raised": Way(S.OUTCOME_UNKNOWN, EXECUTE, [calls(("lose", {}))]),
    "call_that_exits": Way(S.CANCELLED, EXECUTE, [calls(("leave", {}))]),
    "steps": Way(S.MAX_STEPS_EXCEEDED, CHECK, [calls(("look", {}))], {"steps": 1}),
    "calls": Way(S.TOOL_BUDGET_EXCEEDED, CHECK, [calls(("look", {}), ("look", {"seconds": 1}))], {"tool_calls": 1}),
    "tokens_of_a_request": Way(
        S.TOKEN_BUDGET_EXCEEDED, CHECK, [body("tool_calls", tool_calls=A_CALL)], {"tokens": 600}
    ),
    "tokens_that_were_spent": Way(
        S.TOKEN_BUDGET_EXCEEDED, CHECK, [body("tool_calls", tool_calls=A_CALL)], {"tokens": 490}
    ),
    "tokens_of_an_answer": Way(S.TOKEN_BUDGET_EXCEEDED, CHAT, [cut], {"tokens": 2_000}),
    "cost_of_a_request": Way(S.COST_BUDGET_EXCEEDED, CHECK, [body("tool_calls", tool_calls=A_CALL)], {"cost_usd": 0.6}),
    "cost_of_an_answer": Way(S.COST_BUDGET_EXCEEDED, CHAT, [cut], {"cost_usd": 2}),
    "denied": Way(S.TOOL_NOT_ALLOWED, AUTHORIZE, [calls(("look", {}))], options={"policy": Policy(deny={"look"})}),
    "no_such_tool": Way(S.TOOL_NOT_ALLOWED, VALIDATE, [calls(("stare", {}))], options={"unknown_tool": "stop"}),
    "nobody_to_ask": Way(S.CONFIRMATION_REQUIRED, AUTHORIZE, [calls(("save", {}))], options={"policy": Policy()}),
    "cut": Way(S.TRUNCATED_RESPONSE, CHAT, [body("length", tool_calls=A_CALL)]),
    "contradiction": Way(S.INCONSISTENT_RESPONSE, CHAT, [body("stop", tool_calls=A_CALL)]),
    "withheld": Way(S.CONTENT_FILTERED, CHAT, [body("content_filter")]),
    "declined": Way(S.REFUSED, CHAT, [body("stop", refusal="No.")]),
    "blank": Way(S.EMPTY_RESPONSE, CHAT, [body("stop")]),
}


def played(way: Way) -> tuple[RunResult, Spans]:
    """The run, on a clock that skips."""
    spans = ThreadWork()
    model = ScriptedModel(way.script, price=Price(input=1_000, output=1_000))
    options = {"policy": Policy(confirm=lambda _: True), **way.options}
    tools = [look, glance, pay, lose, leave, save]
    try:
        result = skipping(
            lambda wiring, _: Loop(model, tools, budget=Budget(**way.limits), wiring=wiring, **options).arun("Go."),
            spans,
        )
    except SystemExit as leaving:
        left = partial_result(leaving)
        assert left is not None
        result = left
    return result, spans


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_stop_stands_on_the_span_that_decided_it(way: Way) -> None:
    """And on the root; after it only a check that finds the same limit passed says the same."""
    result, spans = played(way)

    said = [span for span in spans.ended_spans if names.RUN_STOP_REASON in span.attributes]
    decided, *checks, root = sorted(said, key=lambda span: span.end_ns)
    assert {span.attributes[names.RUN_STOP_REASON] for span in said} == {result.stop_reason} == {way.stop}
    assert (decided.name.split()[0], root.name.split()[0]) == (way.where, names.INVOKE_AGENT)
    assert all(check.attributes[names.BUDGET_OUTCOME] == "exceeded" for check in checks)


def test_a_write_whose_earlier_try_still_runs_is_decided_where_it_would_have_been_asked_about() -> None:
    """In a second run of the same loop; nobody knows what comes of the first."""
    spans = Spans()

    def run(wiring: Any, _: object) -> Any:
        script = [calls(("pay", {})), calls(("pay", {}))]
        loop = Loop(ScriptedModel(script), [pay], policy=Policy(confirm=lambda _: True), wiring=wiring)

        async def twice() -> list[StopReason]:
            return [(await loop.arun("Go.")).stop_reason for _ in range(2)]

        return twice()

    assert skipping(run, spans) == [S.OUTCOME_UNKNOWN] * 2
    decided = [s.name.split()[0] for s in spans.ended_spans if s.attributes.get(names.RUN_STOP_REASON)]
    assert decided == [EXECUTE, names.INVOKE_AGENT, AUTHORIZE, names.INVOKE_AGENT]
