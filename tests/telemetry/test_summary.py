"""A summary tells names, kinds and sizes, and of values only what says nothing private."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.telemetry.summary import MAX_FIELDS, summarise

SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "count": {"type": "number"},
        "notify": {"type": "boolean"},
        "lines": {"type": "array"},
        "extra": {"type": "object"},
        "mode": {"enum": ["fast", "slow", 7]},
        "only": {"const": "this"},
        "perhaps": {"anyOf": [{"enum": ["yes", "no"]}, {"type": "null"}]},
        "kind": {"$ref": "#/$defs/Kind"},
        "broken": {"$ref": "#/$defs/Nowhere"},
        "anything": True,
    },
    "$defs": {"Kind": {"enum": ["a", "b"]}},
}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"order_id": "A100"}, "order_id=<str 4>"),
        ({"notify": True, "count": 3}, "notify=true count=3"),
        ({"count": 999_999}, "count=999999"),
        ({"count": 1_000_000}, "count=<int>"),
        ({"count": -12.25}, "count=-12.25"),
        ({"count": 3.14159265}, "count=<float>"),
        ({"lines": ["a", "b"], "extra": {"a": 1}}, "lines=<list 2> extra=<object 1>"),
        ({"mode": "fast"}, "mode=fast"),
        ({"mode": "other"}, "mode=<str 5>"),
        ({"only": "this", "perhaps": "no"}, "only=this perhaps=no"),
        ({"perhaps": None}, "perhaps=null"),
        ({"kind": "b", "broken": "b"}, "kind=b broken=<str 1>"),
        ({"anything": "secret"}, "anything=<str 6>"),
        ({"invented-by-a-model": "secret"}, ""),
        ({}, ""),
    ],
)
def test_each_kind_of_value_has_one_form(arguments: dict[str, Any], line: str) -> None:
    """Booleans, listed values and numbers of up to six digits as they are; the rest by size."""
    assert summarise(arguments, SCHEMA) == line


def test_an_opened_field_is_masked_and_cut() -> None:
    """Opening shows a value, never a credential, and never a long one."""
    line = summarise({"order_id": "sk-0123456789abcdefghij"}, SCHEMA, opened={"order_id"})
    assert line == "order_id=[REDACTED:openai_key]"
    assert summarise({"order_id": "A" * 500}, SCHEMA, opened={"order_id"}) == "order_id=" + "A" * 80


def test_many_fields_are_counted() -> None:
    """A line stays a line."""
    names = [f"f{n}" for n in range(MAX_FIELDS + 5)]
    schema = {"properties": {name: {"type": "integer"} for name in names}}
    assert summarise(dict.fromkeys(names, 1), schema).endswith("f19=1 … 5 more")


@given(st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), st.text(min_size=20)))
def test_no_text_of_a_closed_field_is_shown(arguments: dict[str, str]) -> None:
    """With content off, twenty characters of a text never stand in a line."""
    assert all(value not in summarise(arguments, SCHEMA) for value in arguments.values())
