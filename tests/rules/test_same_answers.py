"""Empty answers in a row, and polls whose answer does not change."""

from typing import Any

from traced_loop.rules.repetition_rules import RepetitionRules

from .repeating import USER, all_found, seen


def kinds(steps: list[Any], rules: RepetitionRules | None = None) -> list[tuple[int, str, str, int]]:
    """Step, kind, what is due and the count, of these two alone."""
    wanted = {"empty_answers", "poll_exhausted"}
    return [(e.step, e.kind.value, e.due, e.count) for e in all_found(steps, rules) if e.kind in wanted]


def test_empty_answers_of_one_tool_are_counted_call_by_call() -> None:
    """Also inside of one response; an answer that is not empty ends the row, a write has none."""
    few = RepetitionRules(empty_warning=4)
    empty = [seen(f"find {n}", "[]", empty="nothing") for n in range(8)]
    assert kinds([empty[:2], empty[2:4]], few) == [(2, "empty_answers", "observe", 4)]
    assert kinds([*empty[:3], seen("find x", "here"), *empty[3:6]], few) == []
    assert kinds([*empty[:3], USER, *empty[3:6]], few) == []
    assert kinds([seen(f"edit {n}", "", empty="silent", effect="write") for n in range(8)], few) == []


def test_a_poll_may_answer_the_same_as_often_as_it_says() -> None:
    """One more is nudged, two more are stopped; a change starts the count anew."""
    queued, running = seen("state j", "queued", poll=3), seen("state j", "running", poll=3)
    assert kinds([queued] * 3) == []
    assert kinds([queued] * 6) == [(4, "poll_exhausted", "nudge", 4), (5, "poll_exhausted", "stop", 5)]
    assert kinds([queued] * 3 + [running] * 3 + [queued] * 3) == []
    assert kinds([queued] * 3 + [USER] + [queued] * 3) == []


def test_a_poll_is_no_stale_step() -> None:
    """It hides no loop beside it."""
    queued, look = seen("state j", "queued", poll=30), seen("look", "here")
    found = [each.kind.value for each in all_found([[queued, look]] * 4)]
    assert found == ["equal_steps", "equal_steps"]
