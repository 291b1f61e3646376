"""Both kinds of schema refuse the same things with the same words; nothing is coerced, no field is unknown."""

from __future__ import annotations

import json
import re
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema
from pydantic_core import core_schema

from traced_loop.argument_problem import MAX_PROBLEMS, json_type
from traced_loop.argument_schema import SignatureSchema
from traced_loop.errors import UsageError
from traced_loop.raw_schema import RawSchema


class Color(Enum):
    RED = "red"


class Line(BaseModel):
    sku: str
    count: Annotated[int, Field(ge=1)] = 1


def order(
    order_id: Annotated[str, Field(max_length=8, min_length=2)],
    lines: list[Line],
    mode: Literal["fast", "slow"] = "fast",
    limit: Annotated[int | None, Field(le=10)] = None,
    ratio: float = 0.5,
    urgent: bool = False,
    color: Color = Color.RED,
    when: date | None = None,
) -> None:
    """Take everything that arguments can be."""


SIGNATURE = SignatureSchema(order, "order", {"order_id": "Which order."})
RAW = RawSchema(
    {
        "type": "object",
        "required": ["order_id", "lines"],
        "properties": {
            "order_id": {"type": "string", "maxLength": 8, "minLength": 2},
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["sku"],
                    "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
                    "additionalProperties": False,
                },
            },
            "mode": {"enum": ["fast", "slow"]},
            "limit": {"type": ["integer", "null"], "maximum": 10},
            "ratio": {"type": "number"},
            "urgent": {"type": "boolean"},
            "color": {"enum": ["red"]},
            "when": {"type": ["string", "null"]},
        },
    },
    "order",
)
BOTH = pytest.mark.parametrize("schema", [SIGNATURE, RAW], ids=["signature", "raw"])
LEAST: dict[str, Any] = {"order_id": "A1", "lines": [{"sku": "x"}]}


def check(schema: Any, arguments: dict[str, Any]) -> Any:
    """The verdict on arguments."""
    return schema.check(arguments, json.dumps(arguments))


REFUSED = {
    "missing": ({"lines": []}, "missing_field", ["order_id"]),
    "two-missing": ({}, "missing_field", ["order_id", "lines"]),
    "missing-below": ({**LEAST, "lines": [{}]}, "missing_field", ["lines.0.sku"]),
    "extra": ({**LEAST, "note": "x"}, "unexpected_field", ["<extra>"]),
    "extra-below": ({**LEAST, "lines": [{"sku": "x", "note": 1}]}, "unexpected_field", ["<extra>"]),
    "text-for-integer": ({**LEAST, "limit": "5"}, "wrong_type", ["limit"]),
    "boolean-for-integer": ({**LEAST, "limit": True}, "wrong_type", ["limit"]),
    "text-for-boolean": ({**LEAST, "urgent": "false"}, "wrong_type", ["urgent"]),
    "integer-for-boolean": ({**LEAST, "urgent": 1}, "wrong_type", ["urgent"]),
    "integer-for-text": ({**LEAST, "order_id": 12}, "wrong_type", ["order_id"]),
    "null-for-text": ({**LEAST, "order_id": None}, "wrong_type", ["order_id"]),
    "text-for-number": ({**LEAST, "ratio": "0.5"}, "wrong_type", ["ratio"]),
    "other-word": ({**LEAST, "mode": "faster"}, "wrong_type", ["mode"]),
    "other-enum": ({**LEAST, "color": "blue"}, "wrong_type", ["color"]),
    "list-for-object": ({**LEAST, "lines": [[]]}, "wrong_type", ["lines.0"]),
    "too-high": ({**LEAST, "limit": 11}, "out_of_range", ["limit"]),
    "too-low-below": ({**LEAST, "lines": [{"sku": "x", "count": 0}]}, "out_of_range", ["lines.0.count"]),
    "too-short": ({**LEAST, "order_id": "A"}, "out_of_range", ["order_id"]),
    "too-long": ({**LEAST, "order_id": "A" * 9}, "too_large", ["order_id"]),
}


@BOTH
@pytest.mark.parametrize(("arguments", "code", "paths"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_has_one_code_and_path(schema: Any, arguments: Any, code: str, paths: list[str]) -> None:
    """The same for both kinds, each problem once."""
    problems = check(schema, arguments)
    assert isinstance(problems, tuple)
    assert problems[0].code == code
    assert [problem.path for problem in problems] == paths
    assert all(problem.said for problem in problems)


@BOTH
def test_problems_come_in_the_validators_order(schema: Any) -> None:
    """Missing fields before unknown ones before types before limits."""
    problems = check(schema, {"lines": "x", "note": 1, "limit": 99})
    assert [p.code for p in problems] == ["missing_field", "unexpected_field", "wrong_type", "out_of_range"]


@BOTH
def test_what_fits_is_taken(schema: Any) -> None:
    """Whole, and with the defaults left out."""
    arguments = {**LEAST, "limit": None, "ratio": 1, "urgent": True, "mode": "slow"}
    assert not isinstance(check(schema, arguments), tuple)
    assert schema.required == {"order_id", "lines"}


def test_values_become_what_the_signature_declares() -> None:
    """Models, dates and enums; a default stays the function's own business."""
    taken = check(SIGNATURE, {**LEAST, "when": "2026-11-29", "color": "red"})
    assert taken == {"order_id": "A1", "lines": [Line(sku="x")], "when": date(2026, 11, 29), "color": Color.RED}


def test_raw_arguments_stay_what_they_are() -> None:
    """The handler gets them by name."""
    assert check(RAW, LEAST) is LEAST


@BOTH
@given(
    st.dictionaries(
        st.sampled_from(["order_id", "lines", "limit", "ratio", "mode", "when", "x" * 100]),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
            lambda v: st.lists(v) | st.dictionaries(st.sampled_from(["sku", "count", "n"]), v),
        ),
    )
)
def test_any_arguments_are_judged_and_no_value_is_echoed(schema: Any, arguments: dict[str, Any]) -> None:
    """Names of fields are the schema's or ``<extra>``; what is told is short."""
    if any(isinstance(v, float) and abs(v) == float("inf") for v in arguments.values()):
        return
    text = json.dumps(arguments)
    if "Infinity" in text:
        return
    problems = schema.check(arguments, text)
    if isinstance(problems, tuple):
        assert problems
        assert all(len(problem.said) < 200 for problem in problems)
        assert all("x" * 100 not in problem.path for problem in problems)


@pytest.mark.parametrize("schema", [SIGNATURE, RAW], ids=["signature", "raw"])
def test_a_definition_allows_no_additional_fields(schema: Any) -> None:
    """Strict providers ask for it, and it carries no titles."""
    assert schema.definition["type"] == "object"
    assert schema.definition["additionalProperties"] is False
    assert "title" not in json.dumps(SIGNATURE.definition)
    assert SIGNATURE.definition["properties"]["order_id"]["description"] == "Which order."


def no_type(value) -> None:  # type: ignore[no-untyped-def]
    """Declare nothing."""


def star(*values: str) -> None:
    """Take any number."""


def positional(value: str, /) -> None:
    """Take one by place."""


def unresolvable(value: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Name a type that is not there."""


def not_json(value: complex) -> None:
    """Take what JSON has no form for."""


def a_socket(value: json.JSONDecoder) -> None:
    """Take an object of a library."""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_type, "has no type; write value: str"),
        (star, "cannot be given by name"),
        (positional, "cannot be given by name"),
        (unresolvable, "cannot be resolved"),
        (a_socket, "has no JSON form"),
    ],
)
def test_a_signature_that_cannot_be_offered_is_refused_when_it_is_declared(function: Any, said: str) -> None:
    """With the tool's name and what to write instead."""
    with pytest.raises(UsageError, match=rf"tool 'f'.*{said}"):
        SignatureSchema(function, "f", {})


class PythonEngine(BaseModel):
    """A model that says so itself."""

    model_config = ConfigDict(regex_engine="python-re")
    code: Annotated[str, Field(pattern="^(a+)+$")]


class Holder(BaseModel):
    """It is somewhere below."""

    held: list[PythonEngine]


COMPILED = Annotated[str, Field(pattern=re.compile("^(a+)+$"))]
BY_HAND = Annotated[
    str, GetPydanticSchema(lambda _, __: core_schema.str_schema(pattern="^(a+)+$", regex_engine="python-re"))
]


def taking(kind: Any) -> Any:
    """A function of one parameter."""

    def take(value: Any) -> None:
        """Take it."""

    take.__annotations__["value"] = kind
    return take


@pytest.mark.parametrize("kind", [PythonEngine, Holder, COMPILED, list[COMPILED], BY_HAND, dict[str, PythonEngine]])
def test_a_pattern_for_pythons_own_engine_is_refused_wherever_it_is(kind: Any) -> None:
    """A model could hang all of the process with 30 characters; the message says what to do."""
    with pytest.raises(UsageError, match=r"tool 'f': the pattern '\^\(a\+\)\+\$' is for Python's.*InvalidArguments"):
        SignatureSchema(taking(kind), "f", {})


@pytest.mark.parametrize("given", ["aaaa", "a" * 100_000 + "!"])
def test_a_pattern_of_a_signature_takes_linear_time(given: str) -> None:
    """Pydantic's own engine does, and it is the only one there is."""
    schema = SignatureSchema(taking(Annotated[str, Field(pattern="^(a+)+$")]), "f", {})
    assert isinstance(check(schema, {"value": given}), tuple) is given.endswith("!")


class And(BaseModel):
    """All of them."""

    parts: list[And | Or | str]


class Or(BaseModel):
    """One of them."""

    parts: list[And | Or | str]


def test_arguments_that_would_be_tried_in_too_many_ways_are_refused() -> None:
    """Two models that hold one another are tried 2^depth times; what people nest is far from it."""
    schema = SignatureSchema(taking(And), "f", {})
    few, many = ({"value": nested(depth)} for depth in (6, 31))
    assert [problem.code for problem in check(schema, few)] == ["wrong_type"] * 127
    (problem,) = check(schema, many)
    assert (problem.code, problem.path) == ("too_large", "")


def nested(depth: int) -> Any:
    """Conditions in one another, around what is none."""
    value: Any = 1
    for _ in range(depth):
        value = {"parts": [value]}
    return value


def test_of_very_many_problems_a_part_is_told() -> None:
    """Whoever reads them gets five."""
    assert len(check(SignatureSchema(taking(list[int]), "f", {}), {"value": ["x"] * 5_000})) == MAX_PROBLEMS


@pytest.mark.parametrize(
    ("value", "word"),
    [(None, "null"), (True, "boolean"), (1, "integer"), (1.5, "number"), ("", "string"), ([], "array"), ({}, "object")],
)
def test_types_have_their_json_names(value: object, word: str) -> None:
    """What the model is told it sent."""
    assert json_type(value) == word
