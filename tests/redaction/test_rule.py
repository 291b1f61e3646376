"""Rules that people write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import UsageError
from traced_loop.redaction import RedactionRule, Redactor
from traced_loop.redaction.command_lines import command_rules
from traced_loop.redaction.labelled_numbers import labelled_dates
from traced_loop.redaction.named_shapes import named_rules
from traced_loop.redaction.prose import prose_rules
from traced_loop.redaction.rule import Shape, lower


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


def test_each_of_our_own_rules_could_be_written_by_a_user() -> None:
    """Their patterns are not looked at when they are made, so they are here: each compiles, none matches nothing."""
    made = (*named_rules(), *command_rules(), *prose_rules(), *labelled_dates())
    shapes = [rule for rule in made if isinstance(rule, Shape)]
    usable = [RedactionRule(name=shape.name, pattern=re.compile(shape.pattern.pattern)) for shape in shapes]
    assert len(usable) > 80


def test_our_own_rule_is_compiled_when_a_text_needs_it() -> None:
    """Until then even one that is no pattern does no harm."""
    rule = Shape(name="broken", pattern="(", needles=("wanted",))
    assert not rule.wanted("text")
    with pytest.raises(re.error, match="unterminated"):
        list(rule.marked("wanted", "wanted"))


@given(st.text())
def test_lower_case_keeps_places(text: str) -> None:
    """Also where lower case is longer than the text, as of a capital I with a dot."""
    assert len(lower(text + "\u0130")) == len(text) + 1
