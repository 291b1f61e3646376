"""What is found, in words and numbers, without content."""

import pytest

from traced_loop import Repetition
from traced_loop.closed_words import RepetitionKind


def found(kind: RepetitionKind, **more: object) -> Repetition:
    """Something found."""
    given: dict[str, object] = {"due": "stop", "tool": "look", "count": 4, "threshold": 4, "first": 0, "at": 3, **more}
    return Repetition(kind=kind, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", RepetitionKind)
def test_every_kind_has_its_sentence(kind: RepetitionKind) -> None:
    """With the tool and the number."""
    said = found(kind).told()
    assert said.startswith("look ")
    assert "4" in said


def test_a_circle_says_how_long_it_is() -> None:
    """Where that is told, and is more than one step."""
    said = [found(RepetitionKind.CYCLE, period=period).told() for period in (None, 1, 3)]
    assert said[0] == said[1] == "look and the calls around it brought nothing new in 4 steps"
    assert said[2] == f"{said[0]}, every 3 steps"


@pytest.mark.parametrize(
    ("most", "reactions"),
    [
        ("stop", ["observe", "nudge", "stop"]),
        ("nudge", ["observe", "nudge", "nudge"]),
        ("observe", ["observe", "observe", "observe"]),
    ],
)
def test_what_is_due_is_done_as_far_as_it_is_allowed(most: str, reactions: list[str]) -> None:
    """A warning stays one."""
    dues = ("observe", "nudge", "stop")
    done = [found(RepetitionKind.CYCLE, due=due).allowed(most) for due in dues]  # type: ignore[arg-type]
    assert [each.reaction for each in done] == reactions
    assert [each.due for each in done] == list(dues)
    assert [each.rank for each in done] == sorted(each.rank for each in done)
