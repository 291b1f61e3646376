"""Streak, period and first occurrence of steps that bring nothing new."""

from typing import Any

import pytest

from traced_loop.rules.repetition_rules import RepetitionRules

from .repeating import USER, all_found, seen, watch

A, B, C = (seen(f"look {name}", name) for name in "abc")
NEWS = [seen(f"news {n}", str(n)) for n in range(9)]


def streaks(steps: list[Any]) -> list[int]:
    """The streak after each step."""
    return [step.streak for step in watch(steps)]


def test_news_ends_the_streak_and_frees_each_old_call_once() -> None:
    """The first time after it is neither news nor stale; the second is stale."""
    assert streaks([A, A, NEWS[0], A, A, A]) == [0, 1, 0, 0, 1, 2]
    assert streaks([A, B, NEWS[0], A, B, A, B]) == [0, 0, 0, 0, 0, 1, 2]


def test_a_step_is_stale_only_when_all_of_it_is() -> None:
    """One new answer in it is news; one free call keeps the streak as it is."""
    assert streaks([[A, B], [A, B], [A, NEWS[0]], [A, B], [A, B]]) == [0, 1, 0, 0, 1]


def test_the_same_call_with_another_result_is_news() -> None:
    """What a call brings counts, not that it is made."""
    assert streaks([seen("look", str(n)) for n in range(5)]) == [0] * 5


@pytest.mark.parametrize(("trend", "expected"), [("up", 0), ("down", 0), (None, 0), ("mixed", 2), ("same", 2)])
def test_numbers_that_move_one_way_are_news(trend: Any, expected: int) -> None:
    """And such as wander are not; where nothing is known of their way, another number is another result."""
    steps = [seen("load", f"{n} %", masked="%", trend=trend if n else None) for n in range(3)]
    assert streaks(steps)[-1] == expected


def test_a_long_answer_to_other_arguments_is_no_news() -> None:
    """From 200 characters on, of one tool, and not of a write, which did another thing each time."""

    def asked(characters: int, **more: Any) -> int:
        return streaks([seen(f"ask {n}", "page", characters=characters, **more) for n in range(3)])[-1]

    assert (asked(199), asked(200), asked(900, effect="write"), asked(900, effect="read")) == (0, 2, 0, 2)
    others = [seen(f"tool{n} x", "page", characters=900) for n in range(3)]
    assert streaks(others) == [0, 0, 0]


def test_an_error_never_equals_a_result() -> None:
    """Even with the same words."""
    assert streaks([seen("look", "!gone"), seen("look", "!gone", standing="answered")]) == [0, 0]


def test_an_error_that_may_pass_is_neither_news_nor_stale() -> None:
    """It keeps the streak, and does not use up what a call may do once for free."""
    busy = seen("look a", "~503")
    assert streaks([A, A, busy, A]) == [0, 1, 1, 2]
    assert streaks([A, NEWS[0], busy, A, A]) == [0, 0, 0, 0, 1]
    assert streaks([busy, A]) == [0, 0]


def test_a_message_of_a_person_starts_anew() -> None:
    """Old calls are free again, and known."""
    assert streaks([A, A, A, USER, A, A, A]) == [0, 1, 2, 0, 1, 2]


def test_the_period_is_told_where_it_is_steady() -> None:
    """Equal steps have 1; an irregular mix has none."""
    assert [each.period for each in all_found([A] * 4)] == [1, 1]
    assert [each.period for each in all_found([A, B, C] * 4)] == [3, 3]
    irregular = all_found([A, B, C, B, A, C, A, B])
    assert (irregular[0].kind, irregular[0].period) == ("cycle", None)


def test_a_rule_that_is_off_does_nothing() -> None:
    """Each by itself."""
    assert [each.due for each in all_found([A] * 9, RepetitionRules(ok_nudge=None))] == ["stop"]
    assert [each.due for each in all_found([A] * 9, RepetitionRules(ok_stop=None))] == ["nudge"]
    assert all_found([seen("get", "~503")] * 30, RepetitionRules(transient_stop=None)) == []
