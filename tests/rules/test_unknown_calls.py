"""Calls of a history whose outcome nobody knows."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop.outcomes import Outcome
from traced_loop.rules.unknown_calls import unknown_calls
from traced_loop.told import told_error, told_result

UNKNOWN = told_error(Outcome.UNKNOWN, "It may have been applied.")
DONE = told_result("1")


def step(*asked: tuple[str, str, str]) -> list[dict[str, Any]]:
    """An answer with calls of these ids, arguments and answers."""
    wanted = [{"id": i, "type": "function", "function": {"name": "pay", "arguments": a}} for i, a, _ in asked]
    answers = [{"role": "tool", "tool_call_id": i, "content": told} for i, _, told in asked]
    return [{"role": "assistant", "content": None, "tool_calls": wanted}, *answers]


def test_it_is_each_call_that_was_told_to_be_unknown() -> None:
    """Also one that was open when its process died."""
    crashed = told_error(Outcome.UNKNOWN_AFTER_CRASH, "It may have been applied.")
    history = step(("a", '{"n":1}', UNKNOWN), ("b", '{"n":2}', DONE), ("c", '{"n":3}', crashed))

    assert unknown_calls(history) == [("pay", '{"n":1}'), ("pay", '{"n":3}')]


def test_of_equal_calls_the_last_answer_counts() -> None:
    """A service uses an id again in a later answer; it is another call."""
    assert unknown_calls([*step(("a", "{}", UNKNOWN)), *step(("a", "{}", DONE))]) == []
    assert unknown_calls([*step(("a", "{}", DONE)), *step(("a", "{}", UNKNOWN))]) == [("pay", "{}")]


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        '"unknown"',
        '{"type":"unknown"}',
        '{"status":"error","type":"unknown',
        [],
        '{"status":"error","type":"unknown","x":' + "[" * 100_000,
    ],
)
def test_another_answer_is_none(content: Any) -> None:
    """It is ours, in the words of the outcomes, or says nothing about it."""
    assert unknown_calls(step(("a", "{}", content))) == []


@settings(max_examples=30)
@given(
    st.lists(
        st.recursive(
            st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
        ),
        max_size=5,
    )
)
def test_any_history_is_read(messages: list[Any]) -> None:
    """What is no message is nothing."""
    assert unknown_calls(messages) == []
