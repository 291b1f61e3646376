"""A write that succeeds again."""

from typing import Any

from .repeating import USER, all_found, seen


def write(name: str, number: int = 0, **more: Any) -> Any:
    """A write with a fresh id in its result."""
    return seen(f"send {name}", f"id {number}", masked="id", trend="up" if number else None, effect="write", **more)


def found(steps: list[Any]) -> list[tuple[int, str]]:
    """Step and what is due, of writes alone."""
    return [(each.step, each.due) for each in all_found(steps) if each.kind == "repeated_write"]


def test_the_second_is_shown_and_the_third_is_stuck() -> None:
    """Whatever ids the results hold, and whatever is read in between."""
    assert found([write("a", n) for n in range(4)]) == [(2, "observe"), (3, "stop")]
    reads = [seen(f"look {n}", str(n), effect="read") for n in range(3)]
    assert found([write("a", 0), reads[0], write("a", 1), reads[1], write("a", 2)]) == [(3, "observe"), (5, "stop")]


def test_a_write_that_was_not_made_before_starts_the_others_anew() -> None:
    """Each second success is shown all the same; two writes in turn are no news to one another."""
    edits = [write(f"edit {n}") for n in range(5)]
    steps = [step for n, edit in enumerate(edits) for step in (write("copy", n), edit)]
    assert found(steps) == [(3, "observe"), (5, "observe"), (7, "observe"), (9, "observe")]
    turns = [write("ab"[n % 2], n) for n in range(6)]
    assert (5, "stop") in found(turns)


def test_what_failed_or_is_repeatable_is_not_counted() -> None:
    """Nor what a person asked for again."""
    assert found([seen("send a", "!closed", effect="write")] * 5) == []
    assert found([write("a", n, repeatable=True) for n in range(5)]) == []
    assert found([write("a", 0), USER, write("a", 1), USER, write("a", 2)]) == []
    assert found([seen("look a", "x", effect="read")] * 5) == []
