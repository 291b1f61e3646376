"""A masked message can still be answered: ids stay apart, calls stay calls, and masking twice changes nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.models.masked_message import MessageMask
from traced_loop.redaction import default_redactor

KEY = "sk-proj-" + "A1b2C3d4E5f6G7h8I9j0K1l2" * 2
OTHER = "sk-proj-" + "Z1b2C3d4E5f6G7h8I9j0K1l2" * 2


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    """One call of a message."""
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def test_ids_that_look_like_secrets_stay_apart_and_fit_their_results() -> None:
    """Others stay as they are."""
    mask = MessageMask(default_redactor())

    asked = mask.message({"role": "assistant", "tool_calls": [call(KEY), call("call_7"), call(OTHER)]})
    told = [mask.message({"role": "tool", "tool_call_id": each, "content": "x"}) for each in (OTHER, "call_7", KEY)]

    assert [each["id"] for each in asked["tool_calls"]] == ["masked_1", "call_7", "masked_2"]
    assert [each["tool_call_id"] for each in told] == ["masked_2", "call_7", "masked_1"]


def test_arguments_stay_json_and_what_was_masked_is_counted() -> None:
    """Secrets in them and in unknown fields."""
    mask = MessageMask(default_redactor())
    message = {"role": "assistant", "tool_calls": [call("c", f'{{"key": "{KEY}"}}')], "thought": f"use {KEY}"}

    found = mask.message(message)

    assert KEY not in repr(found)
    assert found["tool_calls"][0]["function"]["arguments"].startswith('{"key": "[REDACTED:')
    assert sum(mask.found.values()) == 2


def test_a_message_too_deep_to_look_through_is_hidden_whole() -> None:
    """It stays a message."""
    deep: Any = KEY
    for _ in range(300):
        deep = [deep]

    found = MessageMask(default_redactor()).message({"role": "assistant", "x": deep})

    assert found == {"role": "assistant", "content": "[REDACTION_FAILED]"}


texts = st.text(max_size=30) | st.sampled_from([KEY, f"my key: {KEY}", "jane@mail.example.org", "4111 1111 1111 1111"])
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])},
    optional={
        "content": texts | st.lists(texts, max_size=2) | st.none(),
        "tool_call_id": texts,
        "tool_calls": st.lists(st.builds(call, texts, texts) | st.none() | texts, max_size=3) | texts,
        "x": st.dictionaries(texts, texts, max_size=2),
    },
)


@given(st.lists(messages, max_size=4))
def test_masking_twice_changes_nothing(history: list[dict[str, Any]]) -> None:
    """What a replay gives back is compared with what was recorded."""
    once, twice = MessageMask(default_redactor()), MessageMask(default_redactor())

    masked = [once.message(message) for message in history]

    assert [twice.message(message) for message in masked] == masked
    assert [message["role"] for message in masked] == [message["role"] for message in history]
