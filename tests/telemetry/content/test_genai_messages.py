"""Messages in Chat Completions form as the GenAI message schema has them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.messages import RESPONSE_FIELD
from traced_loop.telemetry.content.genai_messages import KEPT_HOME, MessageReader, definition_of

from .genai_schema import problems

PNG = "data:image/png;base64," + "A" * 4_000
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
part_like = st.dictionaries(
    st.sampled_from(["type", "text", "image_url", "input_audio", "file", "refusal", "thinking", "content"]),
    any_json | st.sampled_from(["text", "image_url", "input_audio", "file", "refusal", "tool_call", "blob", PNG]),
)
message_like = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "name", "refusal", "reasoning_content"]),
    any_json | st.lists(part_like, max_size=3) | st.sampled_from(["user", "assistant", "tool"]),
)


ITEMS = [
    {"type": "reasoning", "summary": [{"text": "First."}, {"text": "Then."}], "encrypted_content": "b2Jqb3Rh"},
    {"type": "reasoning", "summary": [], "encrypted_content": "b2Jqb3Rh"},
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
    {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
    "junk",
]
"""What the Responses API sends beside a text: reasoning in words, and what only the server can read."""


def read(*messages: dict[str, Any], kept_home: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The messages of one run."""
    reader = MessageReader(kept_home)
    return [reader.read(message) for message in messages]


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """An assistant message of one call."""
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


@given(st.lists(message_like, max_size=4), st.none() | st.text())
def test_whatever_a_message_looks_like_the_schema_is_kept(messages: list[dict[str, Any]], reason: str | None) -> None:
    """Roles, part types and required fields; nothing raises."""
    assert problems(read(*messages)) == []
    reader = MessageReader()
    assert problems([reader.read_answer(message, reason) for message in messages], output=True) == []


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ({"role": "user", "content": "hi"}, [{"type": "text", "content": "hi"}]),
        ({"role": "developer", "content": "mind"}, [{"type": "text", "content": "mind"}]),
        ({"role": "assistant", "content": None}, []),
        (
            {"role": "assistant", "reasoning_content": "so", "content": "hi"},
            [{"type": "reasoning", "content": "so"}, {"type": "text", "content": "hi"}],
        ),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            [{"type": "text", "content": "no"}],
        ),
        (
            {"role": "assistant", "content": "hi", RESPONSE_FIELD: {"output": ITEMS}},
            [
                {"type": "reasoning", "content": "First.\n\nThen."},
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "hi"},
            ],
        ),
        ({"role": "assistant", "content": "", "refusal": "no"}, [{"type": "text", "content": "no"}]),
        (
            {"role": "user", "content": [{"type": "video", "id": 1}]},
            [{"type": "video", "content": {"id": 1}}],
        ),
        (
            {"role": "user", "content": [{"type": "blob", "data": 1}]},
            [{"type": "unknown", "content": {"data": 1}}],
        ),
    ],
)
def test_the_parts_of_a_message(message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """The role stays, what is unknown becomes generic and never one of the schema's own types."""
    (found,) = read(message)
    assert (found["role"], found["parts"]) == (message["role"], parts)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "", "size": 3_000},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
            {"type": "uri", "modality": "image", "uri": "https://a.example/b.png"},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
            {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "", "size": 3},
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}},
            {"type": "blob", "modality": "document", "mime_type": "application/pdf", "content": "", "size": 3},
        ),
        (
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "file", "modality": "document", "file_id": "file-1"},
        ),
    ],
)
def test_a_file_is_told_by_kind_and_size_and_never_by_its_body(given: dict[str, Any], part: dict[str, Any]) -> None:
    """A mark says what was there."""
    (found,) = read({"role": "user", "content": [given]})
    shown = dict(found["parts"][0])
    mark = shown.pop("left_out", None)
    assert shown == part
    assert mark == (f"…[{part['mime_type']}, {part['size']} bytes left out]" if part["type"] == "blob" else None)


def test_a_call_has_its_arguments_parsed_and_a_result_its_json() -> None:
    """What cannot be parsed stays the text that it was."""
    first, second, third = read(
        call("a", "look", '{"x":[1]}'),
        call("b", "look", '{"x":'),
        {"role": "tool", "tool_call_id": "a", "content": '{"status":"completed","result":1}'},
    )
    assert first["parts"] == [{"type": "tool_call", "name": "look", "arguments": {"x": [1]}, "id": "a"}]
    assert second["parts"][0]["arguments"] == '{"x":'
    assert third["parts"] == [
        {"type": "tool_call_response", "response": {"status": "completed", "result": 1}, "id": "a"}
    ]


def test_a_tool_that_keeps_its_content_home_is_closed_in_messages_too() -> None:
    """Arguments and result, also where its call's id is used again by another tool in a later step."""
    found = read(
        call("1", "secret", '{"q":"why"}'),
        {"role": "tool", "tool_call_id": "1", "content": "because"},
        call("1", "look", '{"q":"what"}'),
        {"role": "tool", "tool_call_id": "1", "content": "that"},
        kept_home=("secret",),
    )
    arguments = [part.get("arguments", part.get("response")) for message in found for part in message["parts"]]
    assert arguments == [KEPT_HOME, KEPT_HOME, {"q": "what"}, "that"]
    assert "because" not in json.dumps(found)


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        *(("tool_calls", "tool_call"), ("stop", "stop"), ("length", "length"), (None, "error"), ("odd", "odd")),
        *(("completed", "stop"), ("max_output_tokens", "length"), ("failed", "error")),
    ],
)
def test_a_finish_reason_is_the_schemas_word(raw: str | None, word: str) -> None:
    """Where it has one; none at all is an error."""
    assert MessageReader().read_answer({"content": "x"}, raw)["finish_reason"] == word


def test_a_completed_answer_with_calls_ended_with_them() -> None:
    """The Responses API has one word for both ends."""
    asking = call("1", "look", "{}")
    assert MessageReader().read_answer(asking, "completed")["finish_reason"] == "tool_call"


def test_a_definition_is_flat() -> None:
    """Name, description and parameters beside the type."""
    function = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
    assert definition_of({"type": "function", "function": function}) == {"type": "function", **function}
    assert definition_of({}) == {"type": "function", "name": "_unknown"}
