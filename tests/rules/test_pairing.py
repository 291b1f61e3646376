"""A replayable history answers every call once, in order, before anything else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.rules.pairing import pairing_problems

USER = {"role": "user", "content": "go"}


def asks(*ids: Any) -> dict[str, Any]:
    """An assistant message with calls of these ids."""
    return {"role": "assistant", "content": None, "tool_calls": [{"id": identifier} for identifier in ids]}


def answers(identifier: Any) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": identifier, "content": "{}"}


GOOD = {
    "empty": [],
    "no-calls": [USER, {"role": "assistant", "content": "hi"}],
    "one-call": [USER, asks("a"), answers("a"), {"role": "assistant", "content": "hi"}],
    "parallel": [asks("a", "b"), answers("a"), answers("b")],
    "ids-used-again-in-the-next-step": [asks("a"), answers("a"), asks("a"), answers("a")],
    "system-first": [{"role": "system", "content": "x"}, {"role": "developer", "content": "y"}, USER],
}
BAD = {
    "unanswered": ([asks("a")], "call 'a' has no result"),
    "unanswered-before-user": ([asks("a"), USER], "call 'a' has no result before messages[1]"),
    "one-of-two": ([asks("a", "b"), answers("a"), USER], "call 'b' has no result before messages[2]"),
    "wrong-order": ([asks("a", "b"), answers("b"), answers("a")], "messages[1] answers call 'b', expected 'a'"),
    "twice": ([asks("a"), answers("a"), answers("a")], "messages[2] answers call 'a', no call waits for one"),
    "from-nowhere": ([USER, answers("a")], "messages[1] answers call 'a', no call waits for one"),
    "same-id-twice": ([asks("a", "a"), answers("a"), answers("a")], "messages[0] uses one call id twice"),
    "empty-list": ([asks()], "messages[0] has an empty list of calls or a call without an id"),
    "no-id": ([asks("")], "messages[0] has an empty list of calls or a call without an id"),
    "no-role": ([{"content": "x"}], "messages[0] is no message with a role"),
    "no-object": (["x"], "messages[0] is no message with a role"),
    "role-of-no-text": ([{"role": []}], "messages[0] is no message with a role"),
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_a_replayable_history_has_no_problem(history: list[Any]) -> None:
    """What a strict provider takes."""
    assert pairing_problems(history) == []


@pytest.mark.parametrize(("history", "problem"), BAD.values(), ids=BAD)
def test_a_broken_history_is_told_by_message_and_id(history: list[Any], problem: str) -> None:
    """The first sentence names what is wrong."""
    assert pairing_problems(history)[0] == problem


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "tool_calls", "id"]), inner),
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool"]) | json_values,
        "tool_calls": st.lists(st.fixed_dictionaries({}, optional={"id": json_values})) | json_values,
        "tool_call_id": json_values,
    },
)


@given(st.lists(messages | json_values))
def test_any_history_is_judged_and_never_a_crash(history: list[Any]) -> None:
    """Problems are sentences."""
    assert all(isinstance(problem, str) for problem in pairing_problems(history))


@given(st.lists(st.lists(st.text(min_size=1), unique=True, min_size=1)))
def test_answering_every_call_in_order_makes_any_history_replayable(batches: list[list[str]]) -> None:
    """And leaving the last answer out does not."""
    history = [m for ids in batches for m in (asks(*ids), *(answers(i) for i in ids))]
    assert pairing_problems(history) == []
    assert not batches or len(pairing_problems(history[:-1])) == 1
