"""How much work it is to try arguments against the types of a signature, told before it is done.

pydantic tries every alternative of a union that nothing tells apart. Models that hold one another in such unions take
2^depth tries, in which nothing else of the process runs; so the tries are counted first, and too many are not made.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from traced_loop.json_shapes import as_list, as_object

MAX_TRIES: Final = 100_000
"""Of one value against one type; about half a second where each of them fails."""
_STEPS_A_TRY: Final = 500
"""Steps of a pattern that take as long as a try."""
_SMALL_PATTERN: Final = 50
"""Size of a pattern that needs no counting: the longest arguments there can be are matched in half a second."""


class TrialWork:
    """The types of one signature, as JSON Schema says them."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        self._definition = definition
        self._types = as_object(definition.get("$defs")) or {}
        self._sizes = {pattern: _size(pattern) for pattern in _patterns(definition)}
        self._counts = _comes_back(self._types) or any(size > _SMALL_PATTERN for size in self._sizes.values())

    def too_much(self, arguments: Mapping[str, Any]) -> bool:
        """Whether it is more than is done. Of most signatures the longest arguments are not, and nothing is counted."""
        if not self._counts:
            return False
        tries = 0
        ahead: list[tuple[Any, Any]] = [(self._definition, arguments)]
        while ahead and tries <= MAX_TRIES:
            schema, value = ahead.pop()
            node = as_object(schema)
            if node is None:
                continue
            tries += 1
            tries += sum(self._sizes[said] * len(text) for said, text in _matched(node, value)) // _STEPS_A_TRY
            ahead.extend(self._below(node, value))
        return tries > MAX_TRIES

    def _below(self, node: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
        """What is tried next, of the value itself and of what is in it."""
        name = str(node.get("$ref", "")).removeprefix("#/$defs/")
        if name:
            yield self._types.get(name), value
        fields, items = as_object(value), as_list(value)
        if "discriminator" in node:
            yield _told_apart(node["discriminator"], fields or {}), value
        else:
            for key in ("anyOf", "oneOf", "allOf"):
                yield from ((each, value) for each in node.get(key, ()))
        if fields is not None:
            declared = as_object(node.get("properties")) or {}
            others = next(iter(node.get("patternProperties", {}).values()), node.get("additionalProperties"))
            for field, part in fields.items():
                yield declared.get(field, others), part
        elif items is not None:
            first = as_list(node.get("prefixItems")) or []
            yield from zip(first, items, strict=False)
            yield from ((node.get("items"), item) for item in items[len(first) :])


def _matched(node: Mapping[str, Any], value: Any) -> Iterator[tuple[str, str]]:
    """Patterns, and what they are matched with."""
    if isinstance(value, str) and "pattern" in node:
        yield node["pattern"], value
    for pattern in node.get("patternProperties", ()):
        yield from ((pattern, name) for name in as_object(value) or ())


def _told_apart(discriminator: Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
    """The one alternative that a field names."""
    word = fields.get(discriminator["propertyName"])
    target = discriminator.get("mapping", {}).get(word) if isinstance(word, str) else None
    return None if target is None else {"$ref": target}


def _comes_back(types: Mapping[str, Any]) -> bool:
    """Whether a type holds itself, and there is a union of types by which it may."""
    held = {name: set(_references(schema)) for name, schema in types.items()}
    ended: set[str] = set()

    def follow(name: str, on_the_way: frozenset[str]) -> bool:
        if name in on_the_way:
            return True
        if name in ended:
            return False
        found = any(follow(each, on_the_way | {name}) for each in held.get(name, ()))
        ended.add(name)
        return found

    return any(follow(name, frozenset()) for name in held)


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    node = as_object(schema)
    if node is not None:
        yield node
    for below in node.values() if node is not None else as_list(schema) or ():
        yield from _nodes(below)


def _references(schema: Any) -> Iterator[str]:
    return (str(node["$ref"]).removeprefix("#/$defs/") for node in _nodes(schema) if isinstance(node.get("$ref"), str))


def _patterns(schema: Any) -> Iterator[str]:
    for node in _nodes(schema):
        if isinstance(node.get("pattern"), str):
            yield cast("str", node["pattern"])
        yield from as_object(node.get("patternProperties")) or ()


def _size(pattern: str) -> int:
    """Of a pattern in Rust's own syntax, which has more than ECMAScript's: then it counts as a large one."""
    from traced_loop.linear_pattern import MAX_SIZE, UnusablePattern, linear_pattern  # most signatures have no pattern

    try:
        return linear_pattern(pattern).size
    except UnusablePattern:
        return MAX_SIZE
