"""The span tree of every run that a limit ends."""

from collections.abc import Callable
from typing import Any

from traced_loop import Budget, Price, ScriptedModel, tool
from traced_loop.messages import ModelRequest
from traced_loop.testing import CountedClock, calls, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


PRODUCT = ("multiply", {"a": 6, "b": 7})
NEAR_A_LIMIT = [
    "  check_budget request -> ok",
    "  step -> calls_handled",
    "    chat scripted",
    "    validate_call multiply -> valid",
    "    authorize_call multiply -> allow",
    "    check_budget batch -> warning",
    "    execute_tool multiply -> ok",
    "    append_results",
]


def answered(input_tokens: int, output_tokens: int) -> Callable[[ModelRequest], dict[str, Any]]:
    """One call, and the usage that the provider counts for it."""
    function = {"name": "multiply", "arguments": '{"a":6,"b":7}'}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return lambda _: {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}


def test_max_steps_exceeded() -> None:
    """A request beyond the limit is refused before it is sent: it leaves a check and no step."""
    played = play([calls(PRODUCT)], [multiply], budget=Budget(steps=1))

    assert played.tree() == [
        "invoke_agent agent -> max_steps_exceeded ERROR",
        *NEAR_A_LIMIT,
        "    check_budget step -> ok",
        "  check_budget request -> exceeded",
    ]


def test_tool_budget_exceeded() -> None:
    """A batch that would pass the limit runs none of its calls."""
    played = play([calls(PRODUCT, PRODUCT)], [multiply], budget=Budget(tool_calls=1))

    assert played.tree() == [
        "invoke_agent agent -> tool_budget_exceeded ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        "    validate_call multiply -> valid",
        "    validate_call multiply -> valid",
        "    authorize_call multiply -> allow",
        "    authorize_call multiply -> allow",
        "    check_budget batch -> exceeded",
        "    authorize_call multiply -> skipped_budget",
        "    authorize_call multiply -> skipped_budget",
        "    append_results",
        "    check_budget step -> ok",
    ]


def test_token_budget_exceeded_at_admission() -> None:
    """A request whose input alone would use up the tokens is not sent."""
    played = play([answered(900, 50)], [multiply], budget=Budget(tokens=1_000))

    assert played.tree() == [
        "invoke_agent agent -> token_budget_exceeded ERROR",
        *NEAR_A_LIMIT,
        "    check_budget step -> ok",
        "  check_budget request -> exceeded",
    ]


def test_token_budget_exceeded_at_our_clamp() -> None:
    """An answer that is cut at the cap of a limit is that limit's stop, on the chat span as on the root."""

    def cut(request: ModelRequest) -> dict[str, Any]:
        message = {"role": "assistant", "content": "The answer is that"}
        usage = {"prompt_tokens": 10, "completion_tokens": request.output_cap}
        return {"choices": [{"message": message, "finish_reason": "length"}], "usage": usage}

    played = play([cut], budget=Budget(tokens=500))

    assert played.result.partial == "The answer is that"
    assert played.tree() == [
        "invoke_agent agent -> token_budget_exceeded ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted -> token_budget_exceeded",
        "    check_budget step -> warning",
    ]


def test_cost_budget_exceeded() -> None:
    """A request whose input alone would cost what is left is not sent."""
    model = ScriptedModel([answered(900, 50)], price=Price(input=1_000, output=1_000))

    played = play([], [multiply], model=model, budget=Budget(cost_usd=1))

    assert played.tree() == [
        "invoke_agent agent -> cost_budget_exceeded ERROR",
        *NEAR_A_LIMIT,
        "    check_budget step -> ok",
        "  check_budget request -> exceeded",
    ]


def test_deadline_exceeded() -> None:
    """When the seconds are over after an answer, none of its calls runs."""
    clock = CountedClock()

    def late(_: ModelRequest) -> Any:
        clock.advance(61)
        return calls(PRODUCT)

    played = play([late], [multiply], clock=clock, budget=Budget(seconds=60))

    assert played.tree() == [
        "invoke_agent agent -> deadline_exceeded ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        "    validate_call multiply -> valid",
        "    authorize_call multiply -> allow",
        "    check_budget batch -> exceeded",
        "    authorize_call multiply -> skipped_budget",
        "    append_results",
        "    check_budget step -> exceeded",
    ]
