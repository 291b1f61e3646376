"""A scripted model gives its lines in order, exactly once each."""

import asyncio
from typing import Any

import pytest

from traced_loop.errors import ModelError, ScriptError
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.scripted import ScriptedModel, calls
from traced_loop.rules.pricing import Price


def ask(model: ScriptedModel, *messages: dict[str, Any]) -> ModelAnswer:
    """One request."""
    return asyncio.run(model.complete(ModelRequest(messages=list(messages) or [{"role": "user", "content": "hi"}])))


async def awaited(request: ModelRequest) -> str:
    """An answer that takes a moment."""
    await asyncio.sleep(0)
    return f"{len(request.messages)} messages"


LINES = {
    "text": ("hello", "hello", "stop"),
    "body": ({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}, "x", "length"),
    "function": (lambda request: f"{len(request.messages)}", "1", "stop"),
    "coroutine": (awaited, "1 messages", "stop"),
    "answer": (ModelAnswer(message={"content": "own"}, finish_reason="stop"), "own", "stop"),
    "calls-with-text": (calls(("f", {}), text="wait"), "wait", "tool_calls"),
}


@pytest.mark.parametrize(("line", "content", "reason"), LINES.values(), ids=LINES)
def test_each_kind_of_line_is_an_answer(line: Any, content: str, reason: str) -> None:
    """As a server would have given it."""
    answer = ask(ScriptedModel([line]))
    assert answer.message is not None
    assert (answer.message["content"], answer.finish_reason) == (content, reason)


def test_calls_get_counted_ids_and_text_arguments() -> None:
    """Arguments given as text are sent as they are."""
    model = ScriptedModel([calls(("f", {"a": "ä"}), ("g", "not json")), calls(("h", {}))])
    first, second = ask(model), ask(model)
    assert first.message is not None
    assert second.message is not None
    entries = [*first.message["tool_calls"], *second.message["tool_calls"]]
    assert [entry["id"] for entry in entries] == ["call_1", "call_2", "call_3"]
    assert [entry["function"]["arguments"] for entry in entries] == ['{"a": "ä"}', "not json", "{}"]


@pytest.mark.parametrize("error", [ModelError("busy", error_type="429", retryable=True), KeyboardInterrupt()])
def test_an_exception_is_raised_at_its_turn(error: BaseException) -> None:
    """Whatever kind."""
    model = ScriptedModel([error, "after it"])
    with pytest.raises(type(error)):
        ask(model)
    assert ask(model).message == {"role": "assistant", "content": "after it"}


def test_a_request_beyond_the_script_is_an_error() -> None:
    """So that a test does not go on by accident."""
    model = ScriptedModel(["only"])
    ask(model)
    with pytest.raises(ScriptError, match="has 1 lines, and request 2 was made"):
        ask(model)


def test_lines_that_nobody_asked_for_are_an_error() -> None:
    """A run that stopped early is noticed."""
    model = ScriptedModel(["one", "two"])
    ask(model)
    with pytest.raises(ScriptError, match="1 of 2 lines"):
        model.check_finished()
    ask(model)
    model.check_finished()


def test_a_line_of_another_kind_is_named() -> None:
    """With its place."""
    with pytest.raises(ScriptError, match="line 1 of the script is a int"):
        ask(ScriptedModel([lambda _request: 7]))


def test_a_request_is_kept_as_it_was_made() -> None:
    """The history goes on growing; what was asked does not."""
    model = ScriptedModel(["a"])
    history: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    asyncio.run(model.complete(ModelRequest(messages=history)))
    history[0]["content"] = "changed"
    history.append({"role": "assistant", "content": "a"})
    assert model.requests[0].messages == [{"role": "user", "content": "hi"}]


def test_answers_count_tokens_that_grow_with_the_history() -> None:
    """Budgets can be tried without a server."""
    model = ScriptedModel(["a", "a"])
    short, long = ask(model), ask(model, *[{"role": "user", "content": "hi"}] * 50)
    assert short.usage.source == "provider"
    assert (short.usage.input or 0) < (long.usage.input or 0)


def test_a_price_and_traits_can_be_declared() -> None:
    """As for a real model."""
    price = Price(input=1, output=2)
    model = ScriptedModel([], name="m", price=price, tolerate={"stop_with_tool_calls"}, strip={"reasoning_content"})
    assert (model.name, model.provider, model.traits.pricing("m")) == ("m", "scripted", price)
    assert model.traits.tolerate == {"stop_with_tool_calls"}
    assert model.traits.strip == {"reasoning_content"}
