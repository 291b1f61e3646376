"""What is wrong with a call's arguments, in one set of words for every kind of schema."""

from collections.abc import Iterable
from typing import Any, Final, cast

from traced_loop.closed_words import ErrorCode
from traced_loop.frozen_value import frozen_value

MAX_PROBLEMS: Final = 1_000
"""Problems of one call that are looked at; a model is told a few."""
_RANK: Final = tuple(ErrorCode)
_JSON_TYPES: Final = {
    "NoneType": "null",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "list": "array",
    "dict": "object",
}


@frozen_value
class Problem:
    """One thing wrong with a call's arguments.

    Attributes:
        code: the closed word.
        path: dotted schema field, ``<extra>`` for a field that the schema does not know, or ``""`` for the whole.
        said: what the model is told; names fields and types, never echoes a value.
    """

    code: ErrorCode
    path: str
    said: str


TOO_MUCH: Final = Problem(
    code=ErrorCode.TOO_LARGE,
    path="",
    said="arguments: too much to be checked against this tool's schema; give less at once, or less nested",
)
"""Of arguments that would hold up the whole process while they are checked."""


def json_type(value: object) -> str:
    """The JSON word for a parsed value's type: ``integer``, ``boolean``, ``null``, ..."""
    return _JSON_TYPES.get(type(value).__name__, type(value).__name__)


def schema_fields(schema: Any) -> Iterable[str]:
    """Every field that a JSON Schema declares, at any depth."""
    if isinstance(schema, list):
        items = cast("list[Any]", schema)
        for item in items:
            yield from schema_fields(item)
    elif isinstance(schema, dict):
        node = cast("dict[str, Any]", schema)
        yield from node.get("properties", {})
        for value in node.values():
            yield from schema_fields(value)


def path_of(location: tuple[int | str, ...], known: frozenset[str]) -> str:
    """Dotted path of schema fields and indexes; a key that a model invented is content and is left out."""
    return ".".join(str(part) for part in location if isinstance(part, int) or part in known)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """In the validator's order."""
    return tuple(sorted(problems, key=lambda p: _RANK.index(p.code)))


def unexpected(name: object) -> str:
    """What the model is told of a field that it made up."""
    return f"{short(name)}: not a field of this tool"


def short(value: object) -> str:
    """At most 40 characters of it."""
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
