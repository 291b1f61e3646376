"""Raw JSON Schema: what cannot be used is refused when it is declared, and no arguments hold up the process."""

import json
from typing import Any

import pytest

from traced_loop.argument_text import ParsedArguments, parse_arguments
from traced_loop.errors import UsageError
from traced_loop.raw_schema import MAX_PROBLEMS, RawSchema

from .processor_time import references


def check(schema: Any, arguments: dict[str, Any]) -> Any:
    """The verdict on arguments."""
    return schema.check(arguments, json.dumps(arguments))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "must describe an object"),
        ({"type": "object", "properties": 7}, "is not valid"),
        ({"type": "object", "required": "a"}, "is not valid"),
        ({"properties": {"a": {"$ref": "https://example.com/x.json"}}}, "never fetched"),
        ({"properties": {"a": {"$ref": "#/$defs/nowhere"}}}, "which is not in it"),
        ({"properties": {"a": {"pattern": "("}}}, r"the pattern '\(' cannot be used: a \( is never closed"),
        ({"patternProperties": {"(": {}}}, r"the pattern '\(' cannot be used"),
        ({"properties": {"a": {"items": {"pattern": r"(.)\1"}}}}, "refers back to a group.*raise InvalidArguments"),
        ({"properties": {"a": {"anyOf": [{"pattern": "a(?=b)"}]}}}, "looks ahead or behind.*write another one"),
        ({"$defs": {"A": {"patternProperties": {"a{20000}": {}}}}}, "20000 states, and 10000 are the most"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}}, "to itself"),
        ({"$ref": "#"}, "refers to itself without going into the value"),
    ],
)
def test_a_raw_schema_that_cannot_be_used_is_refused_when_it_is_declared(schema: dict[str, Any], said: str) -> None:
    """Not in the middle of a run, and nothing is fetched."""
    with pytest.raises(UsageError, match=said):
        RawSchema(schema, "f")


def test_a_reference_inside_of_a_raw_schema_works() -> None:
    """As MCP servers write them."""
    schema = RawSchema({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "integer"}}}, "f")
    assert check(schema, {"a": 1}) == {"a": 1}
    assert check(schema, {"a": "1"})[0].code == "wrong_type"


def test_fields_of_a_combined_schema_are_known() -> None:
    """``allOf`` at the top declares fields too; others are refused all the same."""
    part = {"properties": {"a": {"type": "integer"}}}
    schema = RawSchema({"type": "object", "allOf": [part], "properties": {"b": {}}}, "f")
    assert check(schema, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert [problem.path for problem in check(schema, {"a": 1, "c": 2})] == ["<extra>"]


def test_a_raw_schema_that_is_open_stays_open() -> None:
    """It says so itself."""
    schema = RawSchema({"type": "object", "additionalProperties": True}, "f")
    assert check(schema, {"anything": 1}) == {"anything": 1}


def test_what_is_no_field_of_a_part_that_fails_is_told_apart_from_one_of_a_part_that_is_unknown() -> None:
    """A field that some part declares is not called unknown because another field of the part is wrong."""
    part = {"properties": {"a": {"type": "integer"}, "c": {}}}
    schema = RawSchema({"allOf": [part]}, "f")
    assert [(p.code, p.path) for p in check(schema, {"a": "x", "c": 1})] == [("wrong_type", "a")]
    assert [p.code for p in check(schema, {"a": "x", "d": 1})] == ["unexpected_field", "wrong_type"]


def test_what_was_declared_is_what_is_checked() -> None:
    """Whatever becomes of the schema that was given."""
    given: dict[str, Any] = {"properties": {"a": {"type": "integer"}}}
    schema = RawSchema(given, "f")
    given["properties"]["a"]["type"] = "string"
    assert check(schema, {"a": 1}) == {"a": 1}
    assert schema.definition["properties"]["a"] == {"type": "integer"}


def chain(depth: int, end: Any) -> Any:
    """An object in an object in an object."""
    value: Any = end
    for _ in range(depth):
        value = {"n": value, "x": 1}
    return value


NODE = [{"properties": {"n": {"$ref": "#/$defs/N"}, name: {"type": "integer"}}, "required": [name]} for name in "xy"]
ANY, ONE, ALL = (
    {"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {of: NODE}}} for of in ("anyOf", "oneOf", "allOf")
)
CLOSED = {
    "properties": {"a": {"$ref": "#/$defs/N"}},
    "$defs": {"N": {"allOf": NODE[:1] * 2, "unevaluatedProperties": False}},
}


def of_a(schema: Any) -> dict[str, Any]:
    """A tool with one field."""
    return {"properties": {"a": schema}}


WORST: dict[str, tuple[dict[str, Any], Any, str | None]] = {
    "pattern": (of_a({"pattern": "^(a+)+$"}), "a" * 1_000_000 + "!", "out_of_range"),
    "large pattern": (of_a({"items": {"pattern": "^[ab]*a[ab]{900}c"}}), ["ab" * 300] * 1_500, "too_large"),
    "names": ({"patternProperties": {"^(a+)+$": {}}}, None, "unexpected_field"),
    "any of": (ANY, chain(60, 1), None),
    "any of, wrong": (ANY, chain(60, {"z": 1}), "wrong_type"),
    "one of": (ONE, chain(60, {"x": 1, "n": {"z": 1}}), "wrong_type"),
    "all of": (ALL, chain(60, {"z": 1}), "missing_field"),
    "unevaluated": (CLOSED, chain(60, {"x": 1}), None),
    "unique objects": (of_a({"uniqueItems": True}), [{"a": n} for n in range(80_000)], None),
    "unique, of all kinds": (of_a({"uniqueItems": True}), [*range(100_000), "x", None, [1]], None),
    "many names": ({"allOf": [{"patternProperties": {"^k": {}}}]}, "many", None),
    "missing": (of_a({"items": {"required": [f"k{n}" for n in range(50)]}}), [{}] * 250_000, "missing_field"),
    "wrong": (of_a({"items": {"type": "integer"}}), ["x"] * 250_000, "wrong_type"),
    "words": (of_a({"items": {"enum": [str(n) for n in range(5_000)]}}), ["4999"] * 140_000, None),
    "multiples": (of_a({"items": {"multipleOf": 0.01}}), [float(f"{n}e290") for n in range(1, 60_000)], None),
    "numbers": (of_a({"items": {"type": "integer"}}), list(range(140_000)), None),
    "alternatives": (of_a({"items": {"anyOf": [{"type": "array"}] * 20}}), [[]] * 140_000, "too_large"),
}


@pytest.mark.parametrize(("schema", "value", "code"), WORST.values(), ids=WORST)
def test_the_worst_arguments_are_judged_in_a_moment(schema: dict[str, Any], value: Any, code: str | None) -> None:
    """Of a MiB, as much as arguments may have: comparing each two items would take ten times the bound."""
    arguments = {"a": value}
    if not isinstance(value, (list, dict)) and "properties" not in schema:
        arguments = {f"k{n}": 1 for n in range(80_000)} if value == "many" else {"a" * 30_000 + "!": 1}
    parsed = parse_arguments(json.dumps(arguments, separators=(",", ":")))
    assert isinstance(parsed, ParsedArguments)
    judge = RawSchema(schema, "f")

    checks: list[Any] = []
    took = references(lambda: checks.append(judge.check(parsed.value, parsed.text)))
    found = checks[0]

    assert (found[0].code if isinstance(found, tuple) else None) == code
    assert len(found) <= MAX_PROBLEMS or not isinstance(found, tuple)
    assert took < 4_000


def test_nesting_that_the_interpreter_cannot_follow_is_refused() -> None:
    """A schema may nest alternatives in one another at each level; then less depth of arguments can be followed."""
    inner: dict[str, Any] = {"properties": {"n": {"$ref": "#/$defs/N"}}}
    for _ in range(15):
        inner = {"anyOf": [{"allOf": [inner]}]}
    schema = RawSchema({"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": inner}}, "f")
    assert check(schema, {"a": chain(2, 1)}) == {"a": chain(2, 1)}
    (problem,) = check(schema, {"a": chain(60, 1)})
    assert (problem.code, problem.path) == ("too_large", "")
