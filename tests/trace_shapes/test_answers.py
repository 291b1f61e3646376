"""The span tree of every run that an answer of the model ends."""

from typing import Any

import pytest

from traced_loop import Budget, ModelError, RetryPolicy, tool
from traced_loop.testing import calls, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def body(finish: str | None, arguments: str | None = None, **message: Any) -> dict[str, Any]:
    """A raw response: one call where there are arguments, twenty output tokens."""
    if arguments is not None:
        function = {"name": "multiply", "arguments": arguments}
        message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": None, **message}}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}


def one_request(reason: str, *, skipped: str = "", error: bool = False) -> list[str]:
    """The tree of a run that its first answer ends."""
    answered = [f"    validate_call multiply -> {skipped}", "    append_results"] if skipped else []
    return [
        f"invoke_agent agent -> {reason} ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        f"    chat scripted -> {reason}" + (" ERROR" if error else ""),
        *answered,
        "    check_budget step -> ok",
    ]


def test_final_answer() -> None:
    """A run with one call has two steps; checks stand before what they admit and after what was spent."""
    played = play([calls(("multiply", {"a": 6, "b": 7})), "42"], [multiply])

    assert played.tree() == [
        "invoke_agent agent -> final_answer",
        "  check_budget request -> ok",
        "  step -> calls_handled",
        "    chat scripted",
        "    validate_call multiply -> valid",
        "    authorize_call multiply -> allow",
        "    check_budget batch -> ok",
        "    execute_tool multiply -> ok",
        "    append_results",
        "    check_budget step -> ok",
        "  check_budget request -> ok",
        "  step -> final",
        "    chat scripted",
        "    check_budget step -> ok",
    ]


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        pytest.param(body("length", '{"a":6,"b":7}'), {}, id="said"),
        pytest.param(
            body("tool_calls", '{"a":6,"b":'),
            {"request": {"max_completion_tokens": 20}},
            id="hidden",
        ),
        pytest.param(
            body("length", '{"a":6,"b":7}'),
            {"budget": Budget(tokens=5_000)},
            id="before_our_cap",
        ),
    ],
)
def test_truncated_response(answer: dict[str, Any], options: dict[str, Any]) -> None:
    """A cut answer runs nothing, not even a call that parses, and answers its calls; said or hidden."""
    played = play([answer], [multiply], **options)

    assert played.tree() == one_request("truncated_response", skipped="skipped_truncated")


@pytest.mark.parametrize(
    ("answer", "skipped"),
    [
        pytest.param(body("stop", '{"a":6,"b":7}'), "skipped_stop", id="stop_beside_calls"),
        pytest.param(body("pause", '{"a":6,"b":7}'), "skipped_stop", id="unknown_word_beside_calls"),
        pytest.param(body(None, '{"a":6,"b":7}'), "skipped_stop", id="no_reason_beside_calls"),
        pytest.param(body("tool_calls", content="It is 42."), "", id="calls_announced_and_missing"),
        pytest.param(body(None, content="It is 42."), "", id="no_reason"),
    ],
)
def test_inconsistent_response(answer: dict[str, Any], skipped: str) -> None:
    """An answer that contradicts itself is neither run nor taken as the final answer."""
    assert play([answer], [multiply]).tree() == one_request("inconsistent_response", skipped=skipped)


@pytest.mark.parametrize(
    ("answer", "skipped"),
    [
        pytest.param(body("content_filter"), "", id="filtered"),
        pytest.param(body("refusal", content=""), "", id="alias"),
        pytest.param(body("content_filter", '{"a":6,"b":7}'), "skipped_stop", id="with_a_call"),
    ],
)
def test_content_filtered(answer: dict[str, Any], skipped: str) -> None:
    """A withheld answer ends the run after one request; a call in it does not run."""
    assert play([answer], [multiply]).tree() == one_request("content_filtered", skipped=skipped)


def test_refused() -> None:
    """A refusal of the model is its own stop, not an empty answer."""
    assert play([body("stop", refusal="I cannot help.")]).tree() == one_request("refused")


@pytest.mark.parametrize("content", [None, "", " \n"], ids=["null", "empty", "blank"])
def test_empty_response(content: str | None) -> None:
    """An answer without text and calls is not an answer."""
    assert play([body("stop", content=content)]).tree() == one_request("empty_response")


def test_model_error() -> None:
    """A request that failed for good leaves one chat span, with the status ERROR."""
    played = play([ModelError("no such model", error_type="404", status=404)])

    assert played.tree() == one_request("model_error", error=True)


def test_model_error_after_attempts() -> None:
    """Every try of a request that failed more than once has its own span."""
    busy = [ModelError("busy", error_type="503", retryable=True) for _ in range(2)]

    played = play(busy, retry=RetryPolicy(attempts=2, first_delay=0.001))

    assert played.tree() == [
        "invoke_agent agent -> model_error ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted -> model_error ERROR",
        "      attempt ERROR",
        "      attempt ERROR",
        "    check_budget step -> ok",
    ]
