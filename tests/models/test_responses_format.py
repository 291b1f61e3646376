"""What a request of the Responses API holds."""

from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from traced_loop.errors import ModelError
from traced_loop.messages import Message, ModelRequest
from traced_loop.models.responses_format import FORGOTTEN, NOT_ENCRYPTED, NOT_TAKEN, ResponsesFormat

from .responses_server import called, response, said, thought

SERVER = "api.test"
WHOLE: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)
PIECES: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)
HI: Message = {"role": "user", "content": "hi"}
REQUEST = ModelRequest(messages=[HI])
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def body(request: ModelRequest = REQUEST, form: ResponsesFormat | None = None) -> dict[str, Any]:
    """A request's body, which the client's own types take, streamed or not."""
    form = form or ResponsesFormat(SERVER)
    found = form.body("m", request)
    WHOLE.validate_python(found)
    PIECES.validate_python(form.stream_body("m", request))
    assert form.stream_body("m", request) == {**found, "stream": True}
    return found


def asked(**parameters: Any) -> dict[str, Any]:
    """What parameters become, without what every request has."""
    plain = body()
    return {key: value for key, value in body(replace(REQUEST, parameters=parameters)).items() if key not in plain}


def test_a_request_keeps_nothing_on_the_server_and_asks_for_its_reasoning() -> None:
    """By default; without tools and parameters there is nothing else in it."""
    assert ResponsesFormat(SERVER).path == "/responses"
    assert body() == {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": "hi"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_tools_are_flat_and_as_strict_as_they_say() -> None:
    """Here a function is strict where nothing is said, which would change a schema that is not written for it."""
    loose = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
    strict = {"type": "function", "function": {"name": "g", "parameters": SCHEMA, "strict": True}}
    bare = {"type": "function", "function": {"name": "h"}}
    found = body(replace(REQUEST, tools=[loose, strict, bare]))

    assert found["tools"] == [
        {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": False},
        {"type": "function", "name": "g", "parameters": SCHEMA, "strict": True},
        {"type": "function", "name": "h", "parameters": None, "strict": False},
    ]
    assert "tool_choice" not in found


F = {"type": "function", "function": {"name": "f"}}
CHOICES: dict[str, tuple[Any, Any]] = {
    "auto": ("auto", "auto"),
    "none": ("none", "none"),
    "required": ("required", "required"),
    "function": (F, {"type": "function", "name": "f"}),
    "custom": ({"type": "custom", "custom": {"name": "sh"}}, {"type": "custom", "name": "sh"}),
    "allowed": (
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [F]}},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    ),
    "flat_already": ({"type": "function", "name": "f"}, {"type": "function", "name": "f"}),
}


@pytest.mark.parametrize(("choice", "written"), CHOICES.values(), ids=CHOICES)
def test_a_tool_choice_is_flat(choice: Any, written: Any) -> None:
    """Every form that Chat Completions has."""
    tool = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
    assert body(replace(REQUEST, tools=[tool], tool_choice=choice))["tool_choice"] == written


def test_a_choice_without_tools_is_left_out() -> None:
    """Servers refuse it."""
    assert "tool_choice" not in body(replace(REQUEST, tool_choice="auto"))


NAMED = {"name": "n", "schema": SCHEMA, "strict": True}
PARAMETERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "new_cap": ({"max_completion_tokens": 50}, {"max_output_tokens": 50}),
    "old_cap": ({"max_tokens": 50}, {"max_output_tokens": 50}),
    "own_cap": ({"max_output_tokens": 50}, {"max_output_tokens": 50}),
    "effort": ({"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
    "effort_and_summary": (
        {"reasoning_effort": "low", "reasoning": {"summary": "auto"}},
        {"reasoning": {"effort": "low", "summary": "auto"}},
    ),
    "schema": (
        {"response_format": {"type": "json_schema", "json_schema": NAMED}},
        {"text": {"format": {"type": "json_schema", **NAMED}}},
    ),
    "json": ({"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
    "verbosity": ({"verbosity": "low"}, {"text": {"verbosity": "low"}}),
    "others": (
        {"temperature": 0.5, "metadata": {"a": "b"}, "truncation": "auto"},
        {"temperature": 0.5, "metadata": {"a": "b"}, "truncation": "auto"},
    ),
    "not_given": ({"max_tokens": None, "reasoning_effort": None}, {}),
}


@pytest.mark.parametrize(("given", "written"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_have_their_names_in_this_api(given: dict[str, Any], written: dict[str, Any]) -> None:
    """Those of Chat Completions are put where they belong, the others pass."""
    assert asked(**given) == written


def test_the_loops_cap_goes_before_the_callers() -> None:
    """It is lower."""
    found = body(replace(REQUEST, parameters={"max_tokens": 50}, output_cap=30))
    assert (found["max_output_tokens"], "max_tokens" in found) == (30, False)


def test_what_the_caller_includes_and_stores_is_the_callers() -> None:
    """Beside the reasoning."""
    found = body(replace(REQUEST, parameters={"include": ["message.output_text.logprobs"], "store": True}))
    assert found["include"] == ["message.output_text.logprobs", "reasoning.encrypted_content"]
    assert found["store"] is True


def history(form: ResponsesFormat) -> list[Message]:
    """A question, an answer with a call that the server keeps, its result, a nudge."""
    message = form.read(response(thought(), called("f", "{}"), store=True)).message
    assert message is not None
    result: Message = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    return [{"role": "system", "content": "Be short."}, HI, message, result, {"role": "user", "content": "Go on."}]


@pytest.mark.parametrize("kept", [True, False])
def test_reasoning_by_name_goes_to_a_server_that_keeps_it(kept: bool) -> None:
    """Where the caller lets it keep answers."""
    form = ResponsesFormat(SERVER)
    message = form.read(response(thought(None), said("hi"), store=kept)).message
    assert message is not None
    request = ModelRequest(messages=[HI, message, HI], parameters={"store": kept})
    assert ("reasoning" in kinds(form, request)) is kept


def test_with_the_servers_history_only_what_is_new_is_sent() -> None:
    """Results, nudges and questions after the last answer, by the answer's id; what came before is on the server."""
    form = ResponsesFormat(SERVER, server_history=True)
    found = body(ModelRequest(messages=history(form)), form)

    assert (found["previous_response_id"], found["store"]) == ("resp_1", True)
    assert found["input"] == [
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"type": "message", "role": "user", "content": "Go on."},
    ]


def test_the_whole_history_is_sent_where_the_server_keeps_none() -> None:
    """Also of an answer that another request had the server keep."""
    form = ResponsesFormat(SERVER)
    found = body(ModelRequest(messages=history(form)), form)

    assert "previous_response_id" not in found
    assert [item["type"] for item in found["input"]] == [
        *("message", "message", "reasoning", "function_call", "function_call_output", "message")
    ]


def test_an_answer_that_the_server_has_forgotten_is_not_named_again() -> None:
    """The failed try says so and can be made again at once, with the whole history."""
    form = ResponsesFormat(SERVER, server_history=True)
    request = ModelRequest(messages=history(form))
    said_so = "Previous response with id 'resp_1' not found."
    error = form.failure(body(request, form), ModelError(said_so, error_type="400", status=400))

    assert (error.error_type, error.retryable, error.retry_after, error.status) == (FORGOTTEN, True, 0.0, 400)
    again = body(request, form)
    assert ("previous_response_id" in again, len(again["input"]), again["store"]) == (False, 6, True)


@pytest.mark.parametrize(
    ("status", "text"),
    [(500, "previous response not found"), (400, "no such model"), (None, "previous response")],
    ids=["another_status", "another_reason", "no_status"],
)
def test_any_other_failure_stays_what_it_is(status: int | None, text: str) -> None:
    """And the answer is named again."""
    form = ResponsesFormat(SERVER, server_history=True)
    request = ModelRequest(messages=history(form))
    error = ModelError(text, error_type="x", status=status)

    assert form.failure(body(request, form), error) is error
    assert body(request, form)["previous_response_id"] == "resp_1"


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "openai/gpt-4o"])
def test_models_without_reasoning_are_not_asked_for_it(model: str) -> None:
    """They answer 400."""
    assert "include" not in ResponsesFormat(SERVER).body(model, REQUEST)


def test_reasoning_that_a_model_does_not_give_is_not_asked_for_again() -> None:
    """The failed try says so and can be made again at once; what the caller includes stays."""
    form = ResponsesFormat(SERVER)
    request = replace(REQUEST, parameters={"include": ["message.output_text.logprobs"]})
    refused = ModelError("Encrypted content is not supported with this model.", error_type="400", status=400)
    error = form.failure(body(request, form), refused)

    assert (error.error_type, error.retryable, error.retry_after) == (NOT_ENCRYPTED, True, 0.0)
    assert body(request, form)["include"] == ["message.output_text.logprobs"]
    assert "include" not in body(REQUEST, form)
    assert form.failure(body(REQUEST, form), refused) is refused


def kinds(form: ResponsesFormat, request: ModelRequest, model: str = "m") -> list[str]:
    """The types of the items that are sent."""
    return [item["type"] for item in form.body(model, request)["input"]]


@pytest.mark.parametrize(
    "text",
    [
        "The encrypted content b2Jqb3Rh could not be verified.",
        "Reasoning input items can only be provided to a reasoning or computer use model.",
        "Item with id 'rs_1' not found.",
    ],
    ids=["another_key", "another_model", "not_kept"],
)
def test_reasoning_that_a_server_cannot_read_is_not_sent_back_again(text: str) -> None:
    """The failed try says so and can be made again at once, without it; what is thought from then on goes back."""
    form = ResponsesFormat(SERVER)
    request = ModelRequest(messages=history(form))
    error = form.failure(body(request, form), ModelError(text, error_type="400", status=400))
    later = form.read(response(thought(identifier="rs_2"), said("ok"))).message
    assert later is not None

    assert (error.error_type, error.retryable, error.retry_after) == (NOT_TAKEN, True, 0.0)
    assert "reasoning" not in kinds(form, request)
    assert kinds(form, replace(request, messages=[*request.messages, later, HI]))[-3:] == [
        *("reasoning", "message", "message")
    ]
    assert form.failure(form.body("m", request), ModelError(text, error_type="400", status=400)).error_type == "400"


def test_reasoning_of_another_model_is_not_sent_to_one_without() -> None:
    """It would refuse it."""
    form = ResponsesFormat(SERVER)
    request = ModelRequest(messages=history(form))
    assert "reasoning" in kinds(form, request)
    assert "reasoning" not in kinds(form, request, "gpt-4o")


def test_a_failure_of_a_request_that_names_no_answer_stays_what_it_is() -> None:
    """There is nothing to send that was not sent."""
    form = ResponsesFormat(SERVER)
    error = ModelError("previous response not found", error_type="400", status=400)
    assert form.failure(body(), error) is error
    of_the_callers = body(replace(REQUEST, parameters={"previous_response_id": "resp_9"}))
    assert form.failure(of_the_callers, error) is error


def test_a_text_answer_is_continued_from_too() -> None:
    """A later question of the same conversation."""
    form = ResponsesFormat(SERVER, server_history=True)
    message = form.read(response(said("hello"), store=True)).message
    assert message is not None
    found = body(ModelRequest(messages=[HI, message, {"role": "user", "content": "and?"}]), form)
    assert [item["content"] for item in found["input"]] == ["and?"]


@pytest.mark.parametrize("odd", [{}, {"type": None}, {"type": ["message"]}], ids=str)
def test_an_item_without_a_type_goes_back_as_it_came(odd: dict[str, Any]) -> None:
    """It is the server's own, and no reason to end a run."""
    form = ResponsesFormat(SERVER)
    message = form.read(response({"id": "x", **odd}, called("f", "{}"))).message
    assert message is not None
    request = replace(REQUEST, messages=[HI, message, {"role": "tool", "tool_call_id": "c1", "content": "1"}])
    assert {"id": "x", **odd} in form.body("m", request)["input"]
    assert form.failure(form.body("m", request), ModelError("no", error_type="400", status=400)).retryable is False
