"""How closed words look on every page."""

import pytest

from traced_loop.outcomes import Outcome, StopReason
from traced_loop.views.span_words import style_of
from traced_loop.web.word_marks import CLASSES, outcome_mark, stop_mark


def test_one_stop_is_good_and_one_waits() -> None:
    """Every other one is a failure, as on the span; in the waterfall and on a terminal it is the same colour."""
    styles = {str(stop): stop_mark(stop).style for stop in StopReason}
    assert {styles.pop("final_answer"), styles.pop("confirmation_required")} == {"good", "odd"}
    assert set(styles.values()) == {"bad"}
    assert all(stop_mark(stop).style == CLASSES[style_of(stop)] for stop in StopReason)


def test_what_did_not_run_is_no_failure() -> None:
    """Nor is what waits, or was given again."""
    odd = {outcome for outcome in Outcome if outcome_mark(outcome).style == "odd"}
    assert odd == {"confirmation_required", "replayed", "skipped_budget", "skipped_stop", "skipped_truncated"}
    assert [outcome for outcome in Outcome if outcome_mark(outcome).style == "good"] == ["ok"]


@pytest.mark.parametrize(("word", "style"), [("running", "odd"), ("died", "bad"), ("unknown", "quiet"), ("new", "bad")])
def test_the_state_of_a_run_without_an_end_has_a_look_too(word: str, style: str) -> None:
    """What nobody knows is not red, and a word that nobody knows is not green."""
    assert stop_mark(word).style == style


def test_no_colour_comes_without_a_sign_of_its_own() -> None:
    """Who sees no colours sees the sign."""
    marks = {(mark.style, mark.sign) for mark in map(outcome_mark, Outcome)}
    assert len({sign for _, sign in marks}) == len(marks) == 3
