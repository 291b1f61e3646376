"""The keywords of JSON Schema (2020-12): what each asks of a value, and what it asks of what is below it.

Linear in the value, but for what is asked below, which ``schema_judge`` asks once of each value. A keyword for objects
holds for all that is none, and so on. A rule adds the names or positions that it asks about to ``seen``, for the
keywords that speak of all others.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, Final, Protocol, cast

from traced_loop.frozen_value import frozen_value
from traced_loop.linear_pattern import LinearPattern

Seen = set[str | int]
"""Names or positions that were asked about."""
Child = tuple[Any, Any, str | int | None]
"""A schema, the value that it is about, and where that stands; None where it is the same value, or a name."""


@frozen_value
class Prepared:
    """What was read of a schema.

    Attributes:
        keywords: those that have a rule, in the order in which they are asked.
        patterns: of its patterns, by their texts.
        words: keys of its ``enum``, as ``same_key`` makes them.
        targets: the schemas that its references name, by keyword.
    """

    keywords: tuple[str, ...]
    patterns: Mapping[str, LinearPattern] = field(default_factory=dict[str, LinearPattern])
    words: frozenset[Hashable] = frozenset()
    targets: dict[str, Any] = field(default_factory=dict[str, Any])


class Asking(Protocol):
    """Who asks."""

    def answer(self, schema: Any, value: Any) -> frozenset[str | int] | None:
        """The names or positions that it asked about, where the value satisfies the schema; None where it does not."""
        ...

    def prepared(self, schema: Any) -> Prepared:
        """What was read of a schema."""
        ...

    def found(self, pattern: LinearPattern, text: str) -> bool:
        """Whether a pattern is in a text."""
        ...


Rule = Callable[[Asking, Any, Any, Seen], bool]
Children = Callable[[Asking, Any, Any, Seen], list[Child]]


def same_key(value: Any) -> Hashable:
    """A key that equal values of JSON share: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, bool):
        return ("", value)
    if isinstance(value, list):
        return ("[", *(same_key(item) for item in cast("list[Any]", value)))
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return ("{", frozenset((name, same_key(item)) for name, item in fields))
    return cast("Hashable", value)


# What a keyword asks about below, or beside. All of it must be satisfied.


def _properties(_: Asking, schema: Any, value: Any, __: Seen) -> list[Child]:
    return [(below, value[name], name) for name, below in schema["properties"].items() if name in value]


def _patterned(asking: Asking, schema: Any, value: Any, _: Seen) -> list[Child]:
    patterns = asking.prepared(schema).patterns
    wanted = schema["patternProperties"].items()
    return [(below, value[n], n) for said, below in wanted for n in value if asking.found(patterns[said], n)]


def _additional(asking: Asking, schema: Any, value: Any, seen: Seen) -> list[Child]:
    declared = set(schema.get("properties", ()))
    if "patternProperties" in schema:
        declared.update(name for _, _, name in _patterned(asking, schema, value, seen) if isinstance(name, str))
    return [(schema["additionalProperties"], value[name], name) for name in value if name not in declared]


def _unevaluated_properties(_: Asking, schema: Any, value: Any, seen: Seen) -> list[Child]:
    return [(schema["unevaluatedProperties"], value[name], name) for name in value if name not in seen]


def _property_names(_: Asking, schema: Any, value: Any, __: Seen) -> list[Child]:
    return [(schema["propertyNames"], name, None) for name in value]


def _dependent_schemas(_: Asking, schema: Any, value: Any, __: Seen) -> list[Child]:
    return [(below, value, None) for name, below in schema["dependentSchemas"].items() if name in value]


def _prefix_items(_: Asking, schema: Any, value: Any, __: Seen) -> list[Child]:
    return [(below, item, at) for at, (below, item) in enumerate(zip(schema["prefixItems"], value, strict=False))]


def _items(_: Asking, schema: Any, value: Any, __: Seen) -> list[Child]:
    first = len(schema.get("prefixItems", ()))
    return [(schema["items"], value[at], at) for at in range(first, len(value))]


def _unevaluated_items(_: Asking, schema: Any, value: Any, seen: Seen) -> list[Child]:
    return [(schema["unevaluatedItems"], item, at) for at, item in enumerate(value) if at not in seen]


def _all_of(_: Asking, schema: Any, value: Any, __: Seen) -> list[Child]:
    return [(below, value, None) for below in schema["allOf"]]


def _if(asking: Asking, schema: Any, value: Any, _: Seen) -> list[Child]:
    then = "else" if asking.answer(schema["if"], value) is None else "then"
    return [(schema[then], value, None)] if then in schema else []


def _reference(keyword: str) -> Children:
    return lambda asking, schema, value, _: [(asking.prepared(schema).targets[keyword], value, None)]


_OF_OBJECTS: Final[Mapping[str, Children]] = {
    "properties": _properties,
    "patternProperties": _patterned,
    "additionalProperties": _additional,
    "unevaluatedProperties": _unevaluated_properties,
    "propertyNames": _property_names,
    "dependentSchemas": _dependent_schemas,
}
_OF_LISTS: Final = {"prefixItems": _prefix_items, "items": _items, "unevaluatedItems": _unevaluated_items}
_OF_ANY: Final = {
    "allOf": _all_of,
    "if": _if,
    "$ref": _reference("$ref"),
    "$dynamicRef": _reference("$dynamicRef"),
}
CHILDREN: Final = {**_OF_OBJECTS, **_OF_LISTS, **_OF_ANY}
CLOSING: Final = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "items"})


def _descending(keyword: str, kind: type | None) -> Rule:
    children = CHILDREN[keyword]

    def rule(asking: Asking, schema: Any, value: Any, seen: Seen) -> bool:
        if kind is not None and not isinstance(value, kind):
            return True
        if keyword == "if" and (tested := asking.answer(schema["if"], value)) is not None:
            seen |= tested
        for below, part, at in children(asking, schema, value, seen):
            answer = asking.answer(below, part)
            if answer is None:
                return False
            if at is not None:
                seen.add(at)
            elif part is value:
                seen |= answer
        return True

    return rule


# Keywords that combine schemas in other ways.


def _any_of(asking: Asking, schema: Any, value: Any, seen: Seen) -> bool:
    answers = [asking.answer(below, value) for below in schema["anyOf"]]
    for answer in answers:
        seen |= answer or frozenset()
    return any(answer is not None for answer in answers)


def _one_of(asking: Asking, schema: Any, value: Any, seen: Seen) -> bool:
    answers = [answer for below in schema["oneOf"] if (answer := asking.answer(below, value)) is not None]
    for answer in answers:
        seen |= answer
    return len(answers) == 1


def _not(asking: Asking, schema: Any, value: Any, _: Seen) -> bool:
    return asking.answer(schema["not"], value) is None


def _contains(asking: Asking, schema: Any, value: Any, seen: Seen) -> bool:
    if not isinstance(value, list):
        return True
    items = cast("list[Any]", value)
    found = [at for at, item in enumerate(items) if asking.answer(schema["contains"], item) is not None]
    seen.update(found)
    return bool(schema.get("minContains", 1) <= len(found) <= schema.get("maxContains", len(found)))


# Keywords about the value alone.


def _type(_: Asking, schema: Any, value: Any, __: Seen) -> bool:
    kinds = schema["type"]
    return any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _PYTHON_TYPES[kind])


_PYTHON_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "null": type(None),
    "boolean": bool,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}


def _enum(asking: Asking, schema: Any, value: Any, _: Seen) -> bool:
    return same_key(value) in asking.prepared(schema).words


def _const(_: Asking, schema: Any, value: Any, __: Seen) -> bool:
    return same_key(value) == same_key(schema["const"])


def _number(keyword: str, holds: Callable[[Any, Any], bool]) -> Rule:
    return lambda _, schema, value, __: (
        isinstance(value, bool) or not isinstance(value, (int, float)) or holds(value, schema[keyword])
    )


def _multiple(value: float, of: float) -> bool:
    if isinstance(value, int) and isinstance(of, int):
        return value % of == 0
    return (Fraction(str(value)) / Fraction(str(of))).denominator == 1


def _sized(keyword: str, kind: type, holds: Callable[[int, Any], bool]) -> Rule:
    return lambda _, schema, value, __: (
        not isinstance(value, kind) or holds(len(cast("Sequence[Any]", value)), schema[keyword])
    )


def _pattern(asking: Asking, schema: Any, value: Any, _: Seen) -> bool:
    return not isinstance(value, str) or asking.found(asking.prepared(schema).patterns[schema["pattern"]], value)


def _unique(_: Asking, schema: Any, value: Any, __: Seen) -> bool:
    if not schema["uniqueItems"] or not isinstance(value, list):
        return True
    items = cast("list[Any]", value)
    return len({same_key(item) for item in items}) == len(items)


def _required(_: Asking, schema: Any, value: Any, __: Seen) -> bool:
    return not isinstance(value, dict) or all(name in value for name in schema["required"])


def _dependent(_: Asking, schema: Any, value: Any, __: Seen) -> bool:
    wanted: Mapping[str, Collection[str]] = schema["dependentRequired"]
    return not isinstance(value, dict) or all(
        each in value for name, others in wanted.items() if name in value for each in others
    )


def _at_least(have: Any, wanted: Any) -> bool:
    return bool(have >= wanted)


def _at_most(have: Any, wanted: Any) -> bool:
    return bool(have <= wanted)


RULES: Final[Mapping[str, Rule]] = {
    **{keyword: _descending(keyword, dict) for keyword in _OF_OBJECTS},
    **{keyword: _descending(keyword, list) for keyword in _OF_LISTS},
    **{keyword: _descending(keyword, None) for keyword in _OF_ANY},
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "contains": _contains,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _number("minimum", _at_least),
    "maximum": _number("maximum", _at_most),
    "exclusiveMinimum": _number("exclusiveMinimum", lambda have, wanted: bool(have > wanted)),
    "exclusiveMaximum": _number("exclusiveMaximum", lambda have, wanted: bool(have < wanted)),
    "multipleOf": _number("multipleOf", _multiple),
    "minLength": _sized("minLength", str, _at_least),
    "maxLength": _sized("maxLength", str, _at_most),
    "minItems": _sized("minItems", list, _at_least),
    "maxItems": _sized("maxItems", list, _at_most),
    "minProperties": _sized("minProperties", dict, _at_least),
    "maxProperties": _sized("maxProperties", dict, _at_most),
    "pattern": _pattern,
    "uniqueItems": _unique,
    "required": _required,
    "dependentRequired": _dependent,
}


def names_in_question(keyword: str, asking: Asking, schema: Any, value: Any, seen: Seen) -> Iterable[str]:
    """Fields that are missing, or that are not allowed."""
    if keyword == "required":
        return (name for name in schema["required"] if name not in value)
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        return (str(name) for _, _, name in CHILDREN[keyword](asking, schema, value, seen))
    return ()
