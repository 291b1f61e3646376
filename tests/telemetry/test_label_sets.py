"""The label sets of a metric are bounded, and made once."""

from __future__ import annotations

import pytest

from traced_loop.telemetry.label_sets import LabelSets


def test_the_same_values_give_the_same_labels() -> None:
    """One object, so that nothing is made again for each span; what is None is left out."""
    sets = LabelSets(("agent", "tool"))
    assert sets.of("a", None) == {"agent": "a"}
    assert sets.of("a", "t") is sets.of("a", "t")
    assert sets.all() == [{"agent": "a"}, {"agent": "a", "tool": "t"}]


def test_what_is_too_many_is_other() -> None:
    """The first sets stay what they are; a value that is absent stays absent."""
    sets = LabelSets(("agent", "tool"), most=2)
    first = sets.of("a", "one")
    sets.of("a", "two")
    assert sets.of("a", "three") == {"agent": "_other", "tool": "_other"}
    assert sets.of("b", None) == {"agent": "_other"}
    assert sets.of("a", "one") is first


def test_words_of_closed_lists_are_never_replaced() -> None:
    """They count for nothing in the bound: a new word of a known set is shown."""
    sets = LabelSets(("tool", "outcome"), {"outcome"}, most=1)
    assert sets.of("a", "ok") == {"tool": "a", "outcome": "ok"}
    assert sets.of("a", "error") == {"tool": "a", "outcome": "error"}
    assert sets.of("b", "error") == {"tool": "_other", "outcome": "error"}


@pytest.mark.parametrize("many", [10_000])
def test_ten_thousand_values_leave_as_many_sets_as_are_allowed(many: int) -> None:
    """And one more for each word of the closed list."""
    sets = LabelSets(("tool", "outcome"), {"outcome"}, most=50)
    for number in range(many):
        sets.of(f"tool{number}", "ok" if number % 2 else "error")
    assert len(sets.all()) == 52


def test_a_wrong_number_of_values_is_told() -> None:
    """A metric that is given other values than it has labels would count under wrong names."""
    with pytest.raises(ValueError, match="zip"):
        LabelSets(("tool",)).of("a", "b")
