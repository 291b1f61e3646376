"""The numbers of the repetition rules, and their text on the run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop import RepetitionRules, UsageError
from traced_loop.rules.repetition_rules import rules_in, rules_of

COUNTS = st.none() | st.integers(2, 1_000)
RULES = st.builds(
    RepetitionRules,
    reaction=st.sampled_from(["stop", "nudge", "observe"]),
    **dict.fromkeys(RepetitionRules().counts(), COUNTS),
)


@given(RULES)
def test_the_text_of_the_rules_tells_all_of_them(rules: RepetitionRules) -> None:
    """So that a stored run can be asked what other numbers would have done."""
    assert rules_in(rules.text()) == rules


@pytest.mark.parametrize("text", ["", "never", "stop ok_stop=1", "stop ok_stop=many"])
def test_what_is_no_text_of_rules_is_none(text: str) -> None:
    """A trace may hold anything."""
    assert rules_in(text) is None


def test_a_rule_that_a_later_version_adds_is_passed_over() -> None:
    """And one that is missing has its usual number."""
    assert rules_in("nudge new_rule=7 ok_stop=9") == RepetitionRules(reaction="nudge", ok_stop=9)


@pytest.mark.parametrize("wrong", [{"reaction": "never"}, {"ok_nudge": 1}, {"ok_stop": 0}, {"error_stop": 2.5}])
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    """Before anything runs, in words that name it."""
    with pytest.raises(UsageError, match=next(iter(wrong.values())).__str__()):
        RepetitionRules(**wrong)


def test_a_reaction_stands_for_the_usual_numbers() -> None:
    """Rules stand for themselves."""
    own = RepetitionRules(ok_stop=7)
    assert (rules_of("nudge"), rules_of(own)) == (RepetitionRules(reaction="nudge"), own)
