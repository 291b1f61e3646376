"""The span tree of runs that a limit stops and that may say how far they got."""

from typing import Any

import pytest

from traced_loop import Budget, Loop, ModelError, Price, RetryPolicy, ScriptedModel, StopReason, partial_result, tool
from traced_loop.events import Event
from traced_loop.messages import ModelRequest
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedClock, Played, Spans, calls, counted_wiring, play

LAST, STOP = "traced_loop.last_request", "traced_loop.run.stop_reason"


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


PRODUCT = ("multiply", {"a": 6, "b": 7})


def stops(played: Played) -> set[Any]:
    """The stop reasons that stand on spans."""
    return {span.attributes[STOP] for span in played.spans.ended_spans if STOP in span.attributes}


def test_a_last_request_lets_the_model_say_how_far_it_got() -> None:
    """It is a marked step of its own, counts as none, and changes no stop reason."""
    played = play([calls(PRODUCT), "So far: 42."], [multiply], budget=Budget(steps=1, last_request=True))

    result = played.result
    assert (result.stop_reason, result.answer, result.partial) == (StopReason.MAX_STEPS_EXCEEDED, None, "So far: 42.")
    assert (result.last_request, result.usage.steps, result.usage.model_requests) == (True, 1, 2)
    assert stops(played) == {StopReason.MAX_STEPS_EXCEEDED}
    assert played.tree() == [
        "invoke_agent agent -> max_steps_exceeded ERROR",
        "  check_budget request -> ok",
        "  step -> calls_handled",
        "    chat scripted",
        "    validate_call multiply -> valid",
        "    authorize_call multiply -> allow",
        "    check_budget batch -> warning",
        "    execute_tool multiply -> ok",
        "    append_results",
        "    check_budget step -> ok",
        "  check_budget request -> exceeded",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        "    check_budget step -> ok",
    ]
    marked = [span.name.split()[0] for span in played.spans.ended_spans if LAST in span.attributes]
    checks = ["traced_loop.check_budget"] * 2
    assert sorted(marked) == ["chat", "invoke_agent", *checks, "traced_loop.step"]
    assert result.messages[-1]["content"] == "So far: 42."


def test_a_last_request_shows_the_tools_and_allows_none() -> None:
    """Servers refuse a history with calls where no tools are given."""
    played = play([calls(PRODUCT), "42"], [multiply], tool_choice="required", budget=Budget(steps=1, last_request=True))

    first, last = played.model.requests
    assert (first.tool_choice, last.tool_choice) == ("required", "none")
    assert last.tools == first.tools
    assert pairing_problems(last.messages) == []


def test_a_call_in_the_last_answer_never_runs_and_is_answered() -> None:
    """Whatever the model was told."""
    script = [calls(PRODUCT), calls(PRODUCT, text="One more.")]
    played = play(script, [multiply], budget=Budget(steps=1, last_request=True))

    assert list(played.spans.outcomes().values()) == [["ok"], ["skipped_budget"]]
    assert pairing_problems(played.result.messages) == []
    assert (played.result.partial, played.result.usage.tool_calls) == ("One more.", 1)


def test_a_batch_over_its_limit_is_answered_before_the_last_request() -> None:
    """None of it ran; the model is told so, and says what it knows."""
    played = play([calls(PRODUCT, PRODUCT), "Nothing yet."], [multiply], budget=Budget(tool_calls=1, last_request=True))

    assert (played.result.stop_reason, played.result.partial) == (StopReason.TOOL_BUDGET_EXCEEDED, "Nothing yet.")
    assert [m["role"] for m in played.model.requests[1].messages] == ["user", "assistant", "tool", "tool"]


def answered(tokens: int) -> Any:
    """One call, and so many output tokens that are billed."""
    function = {"name": "multiply", "arguments": '{"a":6,"b":7}'}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}

    def line(request: ModelRequest) -> dict[str, Any]:
        spent = min(tokens, request.output_cap or tokens)
        return {
            "choices": [{"message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": spent},
        }

    return line


@pytest.mark.parametrize("limits", [{"tokens": 6_000}, {"tokens": None, "cost_usd": "0.006"}], ids=["tokens", "cost"])
def test_tokens_and_cost_are_set_aside_for_it(limits: dict[str, Any]) -> None:
    """Answers that take all that they may leave room for it, and nothing passes the limit."""
    model = ScriptedModel([answered(9_999), "Enough."], price=Price(input=1, output=1))

    played = play([], [multiply], model=model, budget=Budget(**limits, last_request=True))

    usage = played.result.usage
    assert played.result.partial == "Enough."
    assert usage.tokens <= 6_000
    assert played.result.stop_reason in {StopReason.TOKEN_BUDGET_EXCEEDED, StopReason.COST_BUDGET_EXCEEDED}
    first = played.spans.named("traced_loop.check_budget")[0].attributes
    assert first["traced_loop.budget.reserved_tokens"] + first["traced_loop.budget.kept_tokens"] <= 6_000


def test_without_room_there_is_none() -> None:
    """The result of a tool took what was set aside: the check says so, and nothing is sent."""

    @tool(effect="read")
    def read() -> str:
        """Read much."""
        return "word " * 6_000

    played = play([calls(("read", {}))], [read], budget=Budget(tokens=6_000, last_request=True))

    assert (played.result.stop_reason, played.result.last_request) == (StopReason.TOKEN_BUDGET_EXCEEDED, False)
    assert played.tree()[-2:] == ["  check_budget request -> exceeded", "  check_budget request -> exceeded"]


def test_a_deadline_has_no_last_request() -> None:
    """There is no time left for one."""
    clock = CountedClock()

    def late(_: ModelRequest) -> Any:
        clock.advance(61)
        return calls(PRODUCT)

    played = play([late], [multiply], clock=clock, budget=Budget(seconds=60, last_request=True))

    assert (played.result.stop_reason, played.result.last_request) == (StopReason.DEADLINE_EXCEEDED, False)


def test_a_last_request_that_fails_changes_nothing() -> None:
    """The limit stays the reason; what the server said is kept for people."""
    error = ModelError("busy", error_type="503")
    script = [calls(PRODUCT, text="Let me compute."), error]
    played = play(script, [multiply], budget=Budget(steps=1, last_request=True), retry=RetryPolicy(attempts=1))

    assert (played.result.stop_reason, played.result.partial) == (StopReason.MAX_STEPS_EXCEEDED, "Let me compute.")
    assert (played.result.error, stops(played)) == ("busy", {StopReason.MAX_STEPS_EXCEEDED})


def test_a_last_request_that_is_cancelled_cancels_the_run() -> None:
    """No span gives the limit as the reason then."""
    spans = Spans()
    model = ScriptedModel([calls(PRODUCT), KeyboardInterrupt()])
    loop = Loop(model, [multiply], budget=Budget(steps=1, last_request=True), wiring=counted_wiring(spans))
    with pytest.raises(KeyboardInterrupt) as raised:
        loop.run("Go.")

    left = partial_result(raised.value)
    assert left is not None
    assert left.stop_reason is StopReason.CANCELLED
    assert {span.attributes[STOP] for span in spans.ended_spans if STOP in span.attributes} == {StopReason.CANCELLED}
    assert spans.open == []


def test_a_final_answer_needs_none() -> None:
    """Nor does any other stop."""
    events: list[Event] = []

    played = play(["42"], budget=Budget(steps=1, last_request=True), on_event=events.append)

    assert (played.result.answer, played.result.last_request) == ("42", False)
