"""Any JSON that a server sends is read, and what it does not say stays unknown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.closed_words import Anomaly
from traced_loop.models.chat_completion import MAX_DEPTH, read_body

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
FIELDS = [
    "choices",
    "message",
    "usage",
    "error",
    "code",
    "type",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_tokens_details",
    "cached_tokens",
    "id",
    "model",
    "role",
    "content",
    "tool_calls",
]
near = st.recursive(
    json_values | st.sampled_from([0, -1, 1.5, "12", 429, "rate_limit", "stop", "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=30,
)


@given(near)
def test_any_body_is_an_answer(body: Any) -> None:
    """Never a crash; without a message there is always an error."""
    answer = read_body(body)
    assert answer.message is not None or answer.error
    assert answer.error is None or answer.error_code
    assert answer.message is None or answer.message["role"] == "assistant"


ERRORS = {
    "error-object": ({"choices": None, "error": {"code": 429, "message": "slow"}}, None, "slow", "429"),
    "error-type": ({"error": {"type": "overloaded_error", "message": "busy"}}, None, "busy", "overloaded_error"),
    "error-text": ({"error": "it broke"}, None, "it broke", "_OTHER"),
    "error-true": ({"error": True}, None, "the provider reported an error", "_OTHER"),
    "error-in-choice": ({"choices": [{"error": {"code": 502, "message": "lost"}}]}, None, "lost", "502"),
    "sentence-as-code": ({"error": {"code": "John said: no!", "message": "x"}}, None, "x", "_OTHER"),
    "long-code": ({"error": {"code": "x" * 65, "message": "x"}}, None, "x", "_OTHER"),
    "no-choices": ({"id": "x"}, None, "the response holds no choice with a message", "invalid_response"),
    "finish-error": (
        {"choices": [{"finish_reason": "error", "message": {"content": "half"}}]},
        {"role": "assistant", "content": "half"},
        "the provider ended the answer with an error",
        "provider_error",
    ),
}


@pytest.mark.parametrize(("body", "message", "error", "code"), ERRORS.values(), ids=ERRORS)
def test_an_error_inside_of_a_success_is_read(body: Any, message: Any, error: str, code: str) -> None:
    """Its code is a word that may become ``error.type``; a sentence is content and may not."""
    answer = read_body(body)
    assert (answer.message, answer.error, answer.error_code) == (message, error, code)


def test_an_error_still_has_its_usage_and_its_partial_text() -> None:
    """It was billed."""
    choice = {"finish_reason": "error", "message": {"role": "assistant", "content": "Part"}}
    answer = read_body({"choices": [choice], "error": {"code": 502, "message": "lost"}, "usage": {"total_tokens": 9}})
    assert (answer.usage.total, answer.message, answer.error_code) == (9, choice["message"], "502")


def test_only_the_first_of_several_choices_is_used() -> None:
    """And that is noted."""
    choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in ("a", "b")]
    answer = read_body({"choices": choices, "usage": {"total_tokens": 9}})
    assert answer.message == {"role": "assistant", "content": "a"}
    assert answer.anomalies == (Anomaly.SEVERAL_CHOICES,)


def test_a_message_that_nests_too_deep_is_none() -> None:
    """It could be neither stored nor sent back."""
    deep: Any = json.loads("[" * 500 + "]" * 500)
    answer = read_body({"choices": [{"message": {"content": "hi", "vendor": deep}, "finish_reason": "stop"}]})
    assert (answer.message, answer.error_code) == (None, "invalid_response")
    fits = json.loads("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))
    assert read_body({"choices": [{"message": {"vendor": fits}}]}).message is not None
