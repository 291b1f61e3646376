"""Which answers say that a job's state will not change any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.rules.poll_over import says_over


@pytest.mark.parametrize(
    "text",
    [
        '{"state": "failed", "exit": 1}',
        '{"status":"Succeeded"}',
        '{"conclusion":"cancelled","status":"in_progress"}',
        '"done"',
        "Done.",
        '"job j1: failed"',
        "The build is finished.",
        "status = completed",
    ],
)
def test_a_state_that_stays_is_known(text: str) -> None:
    """In a field of its own, or at the end of a short text."""
    assert says_over(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"state": "running", "done": 3}',
        '{"status": "in_progress"}',
        '"3 done, 7 left"',
        "not yet done",
        "running 90%",
        "queued",
        '["done"]',
        "{broken: done",
        "x" * 300 + ": done",
        "",
    ],
)
def test_anything_else_may_change(text: str) -> None:
    """What only speaks of such a state does, too."""
    assert not says_over(text)


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    """Nothing raises."""
    assert says_over(text) in {True, False}
