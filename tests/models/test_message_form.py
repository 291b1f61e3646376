"""A history is sent in the form that its provider takes, and as it is where that is it."""

from __future__ import annotations

import re
from typing import Any

from traced_loop.models.message_form import BRIDGE, in_form, short_id
from traced_loop.models.traits import ModelTraits

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"g": 1}}
ASKING: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "tool_calls": [CALL],
    "reasoning_content": "hm",
    "vendor": 1,
}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Go."},
    ASKING,
    {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
    {"role": "user", "content": "And now?"},
]


def test_a_history_that_is_taken_as_it_is_stays_the_same_object() -> None:
    """Nothing is copied at each request of a long run."""
    assert in_form(HISTORY, ModelTraits()) is HISTORY


def test_fields_that_a_provider_refuses_are_left_out() -> None:
    """Of assistant messages only, and of nobody's history."""
    sent = in_form(HISTORY, ModelTraits(strip=frozenset({"reasoning_content", "content"})))
    assert sent[1] == {"role": "assistant", "refusal": None, "tool_calls": [CALL], "vendor": 1}
    assert (sent[0], "reasoning_content" in ASKING) == (HISTORY[0], True)


def test_of_another_providers_message_goes_what_every_provider_knows() -> None:
    """And what this one wants back of its own, wherever it stands."""
    sent = in_form(HISTORY, ModelTraits(echo=frozenset({"extra_content"})), foreign=True)
    assert sent[1] == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    plain = in_form(HISTORY, ModelTraits(), foreign=True)[1]["tool_calls"][0]
    assert plain == {key: value for key, value in CALL.items() if key != "extra_content"}


def test_an_id_that_is_not_taken_is_another_one_in_call_and_result_alike() -> None:
    """The same one each time, so that a later request tells the same story."""
    sent = in_form(HISTORY, ModelTraits(call_ids="[A-Za-z0-9]{9}"))
    identifier = sent[1]["tool_calls"][0]["id"]
    assert re.fullmatch("[A-Za-z0-9]{9}", identifier)
    assert (sent[2]["tool_call_id"], short_id("call_1")) == (identifier, identifier)
    assert short_id("call_2") != identifier
    assert HISTORY[2]["tool_call_id"] == "call_1"


def test_an_id_that_is_taken_stays() -> None:
    """Provider ids are not rewritten without need."""
    fits = in_form(HISTORY, ModelTraits(call_ids=r"\w{1,40}"))
    assert fits[1]["tool_calls"][0]["id"] == "call_1"


def test_a_user_message_after_a_result_gets_an_assistants_one_before_it() -> None:
    """Where a provider wants the assistant to speak in between."""
    sent = in_form(HISTORY, ModelTraits(user_after_tool=False))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[3] == BRIDGE
