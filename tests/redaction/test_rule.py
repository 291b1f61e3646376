"""Rules that people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import UsageError
from traced_loop.redaction import RedactionRule, Redactor
from traced_loop.redaction.rule import lower


@pytest.mark.parametrize(
    ("name", "pattern", "said"),
    [
        ("Employee", "EMP", "lower-case"),
        ("", "EMP", "lower-case"),
        ("x" * 41, "EMP", "lower-case"),
        ("employee", "EMP(", "no regular expression"),
        ("employee", "E*", "empty text"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(name: str, pattern: str, said: str) -> None:
    """When it is made, not when a text comes."""
    with pytest.raises(UsageError, match=said):
        RedactionRule(name=name, pattern=pattern)


def test_a_group_named_value_narrows_what_is_masked() -> None:
    """What is around it stays."""
    rule = RedactionRule(name="employee", pattern=r"EMP-(?P<value>\d{6})")
    assert Redactor(add=[rule]).text("by EMP-123456") == "by EMP-[REDACTED:employee]"


def test_needles_and_checks_hold_a_rule_back() -> None:
    """A needle is looked for in the text in lower case; a check sees what was found."""
    rule = RedactionRule(name="employee", pattern=r"\d{6}", needles=("emp",), check=lambda found: found != "000000")
    redactor = Redactor(add=[rule])
    assert redactor.text("no 123456") == "no 123456"
    assert redactor.text("Emp 123456, Emp 000000") == "Emp [REDACTED:employee], Emp 000000"


def test_a_needle_with_a_line_end_is_found_in_a_value() -> None:
    """There it is an escape in JSON."""
    rule = RedactionRule(name="employee", pattern=r"\n\d{6}", needles=("\n1",))
    assert Redactor(add=[rule]).value({"a": "x\n123456"}) == {"a": "x[REDACTED:employee]"}


@given(st.text())
def test_lower_case_keeps_places(text: str) -> None:
    """Also where lower case is longer than the text, as of a capital I with a dot."""
    assert len(lower(text + "\u0130")) == len(text) + 1
