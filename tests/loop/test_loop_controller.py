"""What the controller decides: limits before spending, one stop reason, everything kept on every way out."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from traced_loop import (
    Budget,
    Loop,
    ModelError,
    ScriptedModel,
    ScriptError,
    SharedBudget,
    StopReason,
    names,
    partial_result,
    tool,
)
from traced_loop.events import (
    BudgetChecked,
    CallFinished,
    Event,
    ModelAnswered,
    RunEnded,
    RunStarted,
    StepStarted,
)
from traced_loop.messages import ModelRequest
from traced_loop.rules.pairing import pairing_problems
from traced_loop.run_result import Headroom
from traced_loop.testing import CountedClock, Spans, calls, counted_wiring, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


PRODUCT = calls(("multiply", {"a": 6, "b": 7}), text="Let me compute.")


def body(finish: str, content: str | None = None, **usage: int) -> dict[str, Any]:
    """A raw response without calls."""
    message = {"role": "assistant", "content": content}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage or None}


def test_events_come_in_the_order_in_which_things_happen() -> None:
    """A step begins, the model answers, its calls finish, the limits are compared."""
    events: list[Event] = []

    played = play([PRODUCT, "42"], [multiply], on_event=events.append)

    assert [type(event) for event in events] == [
        RunStarted,
        BudgetChecked,
        StepStarted,
        ModelAnswered,
        BudgetChecked,
        CallFinished,
        BudgetChecked,
        BudgetChecked,
        StepStarted,
        ModelAnswered,
        BudgetChecked,
        RunEnded,
    ]
    assert events[-1] == RunEnded(result=played.result)


def test_an_answer_comes_before_its_skipped_calls() -> None:
    """Also when none of them runs."""
    events: list[Event] = []
    function = {"name": "multiply", "arguments": "{}"}
    message = {"content": None, "tool_calls": [{"id": "c1", "function": function}]}

    play([{"choices": [{"message": message, "finish_reason": "length"}]}], [multiply], on_event=events.append)

    assert [type(event) for event in events[3:5]] == [ModelAnswered, CallFinished]


@pytest.mark.parametrize(
    "kind", [RunStarted, BudgetChecked, StepStarted, ModelAnswered, CallFinished, RunEnded], ids=lambda k: k.__name__
)
def test_a_callback_that_raises_ends_the_run_wherever_it_does(kind: type[Event]) -> None:
    """The exception goes on unchanged and carries what the run had reached; every span has ended."""
    spans, error = Spans(), ZeroDivisionError()

    def broken(event: Event) -> None:
        if isinstance(event, kind):
            raise error

    loop = Loop(ScriptedModel([PRODUCT, "42"]), [multiply], on_event=broken, wiring=counted_wiring(spans))
    with pytest.raises(ZeroDivisionError) as raised:
        loop.run("Go.")

    left = partial_result(raised.value)
    assert (raised.value is error, spans.open) == (True, [])
    assert left is not None
    assert left.stop_reason is (StopReason.FINAL_ANSWER if kind is RunEnded else StopReason.HARNESS_ERROR)
    assert pairing_problems(left.messages) == []
    assert [m["role"] for m in left.messages][:1] == ["user"]


def test_what_a_callback_interrupts_is_kept() -> None:
    """Messages, usage and text that the model had given are in the partial result."""

    def broken(event: Event) -> None:
        if isinstance(event, ModelAnswered):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        Loop(ScriptedModel(["42"]), on_event=broken, store=None).run("Go.")

    left = partial_result(raised.value)
    assert left is not None
    assert (left.answer, left.partial, left.messages[-1]["content"]) == (None, "42", "42")
    assert left.usage.tokens > 0


def test_an_error_of_the_harness_says_its_type_on_every_open_span() -> None:
    """The script was too short: root, step and request end with it."""
    spans = Spans()

    with pytest.raises(ScriptError):
        Loop(ScriptedModel([]), wiring=counted_wiring(spans)).run("Go.")

    ended = [(s.name.split()[0], s.attributes["error.type"]) for s in spans.ended_spans if s.error]
    assert ended == [(name, "traced_loop.errors.ScriptError") for name in ("chat", "traced_loop.step", "invoke_agent")]


def test_a_run_that_is_cancelled_in_a_request_ends_every_span_from_the_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each with the status ERROR and the type; nothing is logged about contexts."""
    spans, asked = Spans(), asyncio.Event()

    async def never(_: ModelRequest) -> None:
        asked.set()
        await asyncio.Event().wait()

    async def run() -> None:
        task = asyncio.create_task(Loop(ScriptedModel([never]), wiring=counted_wiring(spans)).arun("Go."))
        await asked.wait()
        task.cancel()
        await task

    with caplog.at_level(logging.DEBUG), pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(run())

    ended = [(s.name.split()[0], s.attributes["error.type"]) for s in spans.ended_spans if s.error]
    kind = "asyncio.exceptions.CancelledError"
    assert ended == [("chat", kind), ("traced_loop.step", kind), ("invoke_agent", kind)]
    assert partial_result(cancelled.value) is not None
    assert "detach" not in caplog.text


def test_a_timeout_of_the_caller_carries_the_partial_result() -> None:
    """``asyncio.timeout`` turns the cancellation into its own error; the run hangs on its cause."""

    async def never(_: ModelRequest) -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        async with asyncio.timeout(0.05):
            await Loop(ScriptedModel([never]), store=None).arun("Go.")

    with pytest.raises(TimeoutError) as timed_out:
        asyncio.run(run())

    left = partial_result(timed_out.value)
    assert left is not None
    assert left.stop_reason is StopReason.CANCELLED


def overshooting(clock: CountedClock) -> Callable[[ModelRequest], dict[str, Any]]:
    """A final answer that passes every limit at once."""

    def answer(_: ModelRequest) -> dict[str, Any]:
        clock.advance(1_000)
        return body("stop", "42", prompt_tokens=10**6, completion_tokens=10**6)

    return answer


def test_a_complete_answer_wins_over_limits_found_exceeded_after_it() -> None:
    """It was paid for; the check says that they were exceeded."""
    clock = CountedClock()

    played = play([overshooting(clock)], clock=clock, budget=Budget(steps=1, tokens=1_000, seconds=60))

    assert (played.result.stop_reason, played.result.answer) == (StopReason.FINAL_ANSWER, "42")
    assert played.tree()[-1] == "    check_budget step -> exceeded"
    assert sum("traced_loop.run.stop_reason" in s.attributes for s in played.spans.ended_spans) == 1


def test_a_bad_answer_stays_the_reason_when_it_passes_a_limit_too() -> None:
    """More tokens would not have helped."""
    answer = body("content_filter", None, prompt_tokens=10**6, completion_tokens=5)

    played = play([answer], budget=Budget(tokens=1_000))

    reasons = {s.attributes.get("traced_loop.run.stop_reason") for s in played.spans.ended_spans} - {None}
    assert reasons == {StopReason.CONTENT_FILTERED}


def test_of_several_limits_the_one_that_ranks_highest_ends_the_run() -> None:
    """The deadline before the tokens, and the same word on the check as on the root."""
    clock = CountedClock()

    def late(_: ModelRequest) -> Any:
        clock.advance(100)
        function = {"name": "multiply", "arguments": '{"a":6,"b":7}'}
        message = {"content": None, "tool_calls": [{"id": "c1", "function": function}]}
        usage = {"prompt_tokens": 10**6, "completion_tokens": 1}
        return {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}

    played = play([late], [multiply], clock=clock, budget=Budget(tokens=1_000, seconds=60))

    reasons = {s.attributes.get("traced_loop.run.stop_reason") for s in played.spans.ended_spans} - {None}
    assert reasons == {StopReason.DEADLINE_EXCEEDED}
    assert played.spans.outcomes() == {"c1": ["skipped_budget"]}


def test_the_text_before_the_last_calls_is_the_partial() -> None:
    """What the model had said when a limit ended the run is not lost."""
    result = play([PRODUCT], [multiply], budget=Budget(steps=1)).result

    assert (result.answer, result.partial) == (None, "Let me compute.")


def test_the_error_of_a_server_is_in_the_result_and_on_no_span() -> None:
    """What it said may be content."""
    played = play([ModelError("key sk-1 of ada is bad", error_type="401", status=401)])

    assert played.result.error == "key sk-1 of ada is bad"
    assert "ada" not in str(played.spans.ended_spans)


@pytest.mark.parametrize("answers", [1, 3])
def test_each_request_is_admitted_before_it_is_sent(answers: int) -> None:
    """The limit is the last number that is allowed."""
    result = play([PRODUCT] * answers, [multiply], budget=Budget(steps=answers)).result

    assert (result.stop_reason, result.usage.model_requests) == (StopReason.MAX_STEPS_EXCEEDED, answers)
    assert result.next_limit == "steps"


def test_a_cap_is_sent_only_where_a_limit_is_near() -> None:
    """The first request has room for the longest answer; the one that has not says how much is left."""
    model = ScriptedModel([body("stop", "42", prompt_tokens=10, completion_tokens=5)])
    near = ScriptedModel([body("stop", "42", prompt_tokens=10, completion_tokens=5)])

    play([], model=model, budget=Budget(tokens=100_000))
    played = play([], model=near, budget=Budget(tokens=1_000))

    assert model.requests[0].output_cap is None
    assert 900 < (near.requests[0].output_cap or 0) < 1_000
    chat = played.spans.named("chat")[0].attributes
    assert chat["gen_ai.request.max_tokens"] == near.requests[0].output_cap


def test_messages_added_since_the_last_answer_are_part_of_the_next_admission() -> None:
    """A result too large for what the tokens leave ends the run before the request that would carry it."""

    @tool(effect="read")
    def read() -> str:
        """Read."""
        return "x" * 8_000

    result = play([calls(("read", {}))], [read], budget=Budget(tokens=1_000)).result

    assert result.stop_reason is StopReason.TOKEN_BUDGET_EXCEEDED
    assert result.usage.tokens < 1_000


def test_an_error_in_what_the_root_says_at_the_end_leaves_it_a_stop_reason() -> None:
    """The run had an answer; its last numbers cannot be told: that error leaves, and the span and the result say so."""

    class Broken(SharedBudget):
        def headroom(self) -> dict[str, Headroom]:
            raise OverflowError("integer division result too large for a float")

    spans = Spans()
    loop = Loop(ScriptedModel(["42"]), wiring=counted_wiring(spans))

    with pytest.raises(OverflowError) as raised:
        loop.run("6 times 7?", shared_budget=Broken(tokens=100_000))

    [root] = spans.named("invoke_agent")
    assert root.attributes[names.RUN_STOP_REASON] == StopReason.HARNESS_ERROR
    assert root.error
    left = partial_result(raised.value)
    assert left is not None
    assert (left.stop_reason, left.answer, left.partial) == (StopReason.HARNESS_ERROR, None, "42")
