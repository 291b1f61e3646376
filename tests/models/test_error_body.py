"""Bodies of errors are taken apart whatever their shape."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.models.error_body import billed_usage, error_objects, messages_of, parsed, words_of

NAMES = st.sampled_from(["error", "code", "type", "status", "message", "metadata", "raw", "details", "usage", "reason"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


def test_words_are_read_from_the_outermost_to_the_innermost() -> None:
    """A relay's own code comes before that of the server behind it, which it hands on as text."""
    upstream = json.dumps({"object": "error", "message": "too long", "type": "invalid", "code": "3230"})
    body = {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": upstream}}}
    assert words_of(body) == ["400", "3230", "invalid"]
    assert messages_of(body) == ["Provider returned error", "too long"]


def test_a_list_of_errors_is_read_like_one() -> None:
    """Google's address answers so."""
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"reason": "RATE_LIMIT_EXCEEDED"}]}
    assert words_of([{"error": error}]) == ["429", "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"]


def test_a_body_that_is_a_message_is_a_message() -> None:
    """HTML and plain text have no words."""
    assert (words_of("<html>busy</html>"), messages_of("<html>busy</html>")) == ([], ["<html>busy</html>"])
    assert messages_of({"detail": "no such route"}) == ["no such route"]


def test_counts_beside_an_error_or_in_it_are_found() -> None:
    """Some servers bill for their errors."""
    counts = {"prompt_tokens": 7}
    assert billed_usage({"error": {"message": "x"}, "usage": counts}) == counts
    assert billed_usage({"error": {"message": "x", "usage": counts}}) == counts
    assert billed_usage({"error": {"message": "x"}, "usage": []}) is None


@given(JSON)
def test_no_body_is_a_crash(body: Any) -> None:
    """Whatever a server or a proxy sends."""
    assert all(isinstance(word, str) for word in [*words_of(body), *messages_of(body)])
    assert billed_usage(body) is None or billed_usage(body)


def test_a_body_that_nests_without_end_is_left_after_some_objects() -> None:
    """It is neither a crash nor a wait: of objects within objects, some are looked at."""
    body: Any = "x"
    for _ in range(20):
        body = json.dumps({"message": body})[:50_000]
    assert len(list(error_objects(json.loads("[" * 500 + "]" * 500)))) == 0
    assert len(list(error_objects(body))) <= 16


def test_text_that_is_no_json_stays_text() -> None:
    """Also where it nests deeper than a parser goes."""
    assert (parsed("{"), parsed("[1]"), parsed("[" * 100_000)) == ("{", [1], "[" * 100_000)
