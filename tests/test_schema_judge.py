"""The judge agrees with a full implementation of JSON Schema, and asks each schema about each value once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing.exceptions import Unresolvable

from traced_loop.schema_judge import SchemaJudge, TooMuchWork, UnusableSchema

NAMES = st.sampled_from(["a", "b", "c", "ab"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.0, "", "a", "b", "ab"])
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(NAMES, below, max_size=4), max_leaves=12
)
KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SMALL = st.integers(0, 3)


def combined(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A schema of any keywords, with these in it."""
    some, named = st.lists(below, min_size=1, max_size=3), st.dictionaries(NAMES, below, max_size=3)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], some),
        **dict.fromkeys(["not", "if", "then", "else", "items", "contains", "propertyNames"], below),
        **dict.fromkeys(["additionalProperties", "unevaluatedProperties", "unevaluatedItems"], below),
        **dict.fromkeys(["properties", "dependentSchemas"], named),
        **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"], SMALL),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], st.integers(-2, 2)),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b", "b$"]), below, min_size=1, max_size=2),
        "pattern": st.sampled_from(["a", "^b", "b$"]),
        "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "uniqueItems": st.booleans(),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "$ref": st.just("#/$defs/A"),
    }

    def of(chosen: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({key: keywords[key] for key in chosen})

    return st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=5, unique=True).flatmap(of)


SCHEMAS = st.recursive(st.booleans() | st.just({"type": "integer"}), combined, max_leaves=8)


@given(combined(SCHEMAS), SCHEMAS, st.lists(VALUES, min_size=1, max_size=4))
def test_every_verdict_is_that_of_a_full_implementation(schema: Any, shared: Any, values: list[Any]) -> None:
    """With a schema that others refer to, and that may refer to itself below."""
    whole = {**schema, "$defs": {"A": shared}}
    try:
        judge = SchemaJudge(whole)
    except UnusableSchema:
        return
    full = Draft202012Validator(whole)
    for value in values:
        failures = list(judge.failures(value))
        assert (failures == []) is full.is_valid(value)


def test_a_schema_is_asked_about_a_value_once() -> None:
    """By trying all ways it would be 2^60 times."""
    both = [{"properties": {"n": {"$ref": "#/$defs/N"}}, "required": [name]} for name in "xy"]
    judge = SchemaJudge({"$ref": "#/$defs/N", "$defs": {"N": {"oneOf": both}}})
    value: dict[str, Any] = {"x": 1}
    for _ in range(60):
        value = {"x": 1, "n": value}
    assert list(judge.failures(value)) == []


def test_more_work_than_is_done_is_told() -> None:
    """Nobody waits for it."""
    judge = SchemaJudge({"items": {"anyOf": [{"type": "null"}] * 100}})
    with pytest.raises(TooMuchWork):
        list(judge.failures([[n] for n in range(100_000)]))


def test_a_failure_says_where_and_what() -> None:
    """Each keyword once, with the names that it is about."""
    judge = SchemaJudge({"properties": {"a": {"items": {"required": ["x", "y"], "additionalProperties": False}}}})
    (missing, extra) = judge.failures({"a": [{"z": 1}]})
    assert (missing.keyword, missing.path, missing.names) == ("required", ("a", 0), ("x", "y"))
    assert (extra.keyword, extra.path, extra.names) == ("additionalProperties", ("a", 0), ("z",))


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ({"$ref": "#/$defs/A"}, Unresolvable),
        ({"$ref": "#"}, UnusableSchema),
        ({"$defs": {"A": {"not": {"$ref": "#/$defs/A"}}}, "properties": {"a": {"$ref": "#/$defs/A"}}}, UnusableSchema),
        (
            {"$dynamicRef": "#x", "$defs": {n: {"$dynamicAnchor": "x", "$id": n} for n in "ab"}},
            (UnusableSchema, Unresolvable),
        ),
    ],
)
def test_a_schema_without_a_meaning_is_refused(schema: Any, error: Any) -> None:
    """It says of a value what it says of it, or what is not there, or one of several."""
    with pytest.raises(error):
        SchemaJudge(schema)


def test_a_schema_with_a_name_of_its_own_refers_to_itself_by_it() -> None:
    """As some generators write it."""
    judge = SchemaJudge(
        {
            "$id": "https://example.com/t",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"type": "integer"}},
        }
    )
    assert [failure.path for failure in judge.failures({"a": "x"})] == [("a",)]
