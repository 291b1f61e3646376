"""Calls of a history whose outcome nobody knows."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop.outcomes import Outcome
from traced_loop.rules.unknown_calls import completed_calls, unknown_calls
from traced_loop.told import told_error, told_more, told_result

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


@pytest.mark.parametrize("outcome", [each for each in Outcome if each not in {Outcome.ERROR, Outcome.OK}])
def test_an_answer_that_proves_nothing_clears_nothing(outcome: Outcome) -> None:
    """A call that a limit, a person or a policy kept from running says nothing of the one before."""
    told = told_error(outcome, "Not run.")
    assert unknown_calls([*step(("a", "{}", UNKNOWN)), *step(("b", "{}", told))]) == [("pay", "{}")]


@pytest.mark.parametrize("told", [DONE, told_error(Outcome.ERROR, "card declined"), told_more(DONE, undone=True)])
def test_an_answer_that_says_what_came_of_it_clears_it(told: str) -> None:
    """It was done, also if it was undone then; or it changed nothing, and said so."""
    assert unknown_calls([*step(("a", "{}", UNKNOWN)), *step(("b", "{}", told))]) == []


def test_a_call_whose_undoing_is_unknown_is_unknown() -> None:
    """It was done, and nobody knows whether anything of it is left."""
    half = told_more(DONE, undone=None, message="Undoing it failed half-way.")
    assert unknown_calls(step(("a", "{}", half), ("b", "1", told_more(DONE, undone=False)))) == [("pay", "{}")]


def test_what_is_the_same_call_is_for_the_caller_to_say() -> None:
    """A service is asked for the same thing in other words."""
    history = [*step(("a", '{"n":1}', UNKNOWN)), *step(("b", '{"n":1.0}', DONE))]
    assert (unknown_calls(history), unknown_calls(history, lambda name, _: name)) == ([("pay", '{"n":1}')], [])


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
    assert completed_calls(messages) == []


def test_what_was_done_is_told_answer_by_answer() -> None:
    """By name and arguments; what was not done, or not answered, is left out."""
    first = step(("a", "{}", told_result("1")), ("b", "{}", told_error(Outcome.ERROR, "no")))
    assert completed_calls([*first, *step(("a", "{}", told_result("2")))]) == [[("pay", "{}")], [("pay", "{}")]]
