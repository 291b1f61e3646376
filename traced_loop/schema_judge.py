"""JSON Schema (2020-12) asked about one value, in bounded work whatever the value is: a model writes it.

A schema that refers to itself under ``anyOf`` would be asked 2^depth times by trying all ways; here each schema is
asked about each value once. What is left is the number of schemas times the number of values, and of that so much is
done (``MAX_WORK``) and no more. Equal values are found by hashing, and patterns by an engine of linear time. Formats
are not checked: whether ``format`` is more than a remark is left open by the standard. Nothing is fetched.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from referencing import Registry
from referencing.jsonschema import DRAFT202012

from traced_loop.frozen_value import frozen_value
from traced_loop.linear_pattern import LinearPattern, UnusablePattern, linear_pattern
from traced_loop.schema_keywords import CHILDREN, CLOSING, RULES, Prepared, Seen, names_in_question, same_key

MAX_WORK: Final = 500_000
"""Questions for one value, of 2 µs each and less. A list of numbers has about as many in a MiB."""
_STEPS_A_QUESTION: Final = 200
"""Steps of a pattern that take as long as a question."""

_MAPS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    *("additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"),
    *("unevaluatedProperties", "unevaluatedItems"),
)
_REFERENCES: Final = ("$ref", "$dynamicRef")
_LAST: Final = ("unevaluatedProperties", "unevaluatedItems")


class UnusableSchema(ValueError):
    """A schema of which nobody can say what it means; the text says why."""


class TooMuchWork(Exception):
    """A value that takes more questions than are asked, or that nests deeper than they can."""


@frozen_value
class Failure:
    """One keyword that a value does not satisfy.

    Attributes:
        keyword: of the schema; ``""`` where the schema allows nothing at all.
        wanted: what the schema says there.
        value: what does not satisfy it.
        path: where it stands.
        names: fields that are missing, or that are not allowed.
    """

    keyword: str
    wanted: Any
    value: Any
    path: tuple[str | int, ...]
    names: tuple[str, ...] = ()


class SchemaJudge:
    """One schema, read once; asked by any thread."""

    def __init__(self, schema: Any) -> None:
        """Read it; it must not change afterwards.

        Raises:
            UnusablePattern: a pattern in it cannot be used.
            UnusableSchema: it refers to itself without going into the value, or to one of several dynamic anchors.
            referencing.exceptions.Unresolvable: it refers to what is not in it.
        """
        self._schema = schema
        self._schemas: dict[int, Prepared] = {}
        self._anchors: Counter[str] = Counter()
        registry = cast("Any", Registry)()
        self._read(schema, registry.with_resource("", DRAFT202012.create_resource(schema)).crawl().resolver())
        self._check_ends()
        if any("$dynamicRef" in known.targets for known in self._schemas.values()):
            for anchor in (name for name, times in self._anchors.items() if times > 1):
                # Which of them is meant depends on the way to it, so no answer could be kept.
                raise UnusableSchema(f"it has {anchor!r} as a $dynamicAnchor more than once; name it with $ref")

    def failures(self, value: Any) -> Iterator[Failure]:
        """What the value does not satisfy, one by one; the alternatives of ``anyOf`` are not told apart.

        Raises:
            TooMuchWork: it takes too many questions.
        """
        try:
            yield from _Asking(self._schemas).failures(self._schema, value, ())
        except RecursionError:
            raise TooMuchWork from None

    def _read(self, schema: Any, resolver: Any) -> None:
        if not isinstance(schema, dict) or id(cast("object", schema)) in self._schemas:
            return
        node = cast("dict[str, Any]", schema)
        if "$id" in node:
            resolver = resolver.in_subresource(DRAFT202012.create_resource(node))
        ordered = sorted((key for key in node if key in RULES), key=lambda key: key in _LAST)
        patterns = [*node.get("patternProperties", ()), *([node["pattern"]] if "pattern" in node else ())]
        known = self._schemas[id(node)] = Prepared(
            keywords=tuple(ordered),
            patterns={pattern: _pattern(pattern) for pattern in patterns},
            words=frozenset(same_key(each) for each in node.get("enum", ())),
        )
        if "$dynamicAnchor" in node:
            self._anchors[node["$dynamicAnchor"]] += 1
        for key in _REFERENCES:
            if key in node:
                found = resolver.lookup(node[key])
                known.targets[key] = found.contents
                self._read(found.contents, found.resolver)
        for below in _below(node):
            self._read(below, resolver)

    def _check_ends(self) -> None:
        """Refuse a schema that comes back to itself by what is said of the same value."""
        ended: set[int] = set()

        def follow(schema: Any, on_the_way: frozenset[int]) -> None:
            if id(schema) in on_the_way:
                raise UnusableSchema("it refers to itself without going into the value")
            if not isinstance(schema, dict) or id(cast("object", schema)) in ended:
                return
            node = cast("dict[str, Any]", schema)
            for beside in (*_beside(node), *self._schemas[id(node)].targets.values()):
                follow(beside, on_the_way | {id(node)})
            ended.add(id(node))

        for schema in [self._schema, *(each for known in self._schemas.values() for each in known.targets.values())]:
            follow(schema, frozenset())


def _pattern(pattern: str) -> LinearPattern:
    try:
        return linear_pattern(pattern)
    except UnusablePattern as error:
        shown = pattern if len(pattern) <= 80 else f"{pattern[:80]}…"
        raise UnusablePattern(f"the pattern {shown!r} cannot be used: {error}") from error


def _beside(node: Mapping[str, Any]) -> Iterator[Any]:
    """What it says of the same value."""
    for key in ("allOf", "anyOf", "oneOf"):
        yield from node.get(key, ())
    yield from node.get("dependentSchemas", {}).values()
    yield from (node[key] for key in ("not", "if", "then", "else") if key in node)


def _below(node: Mapping[str, Any]) -> Iterator[Any]:
    for key in _MAPS:
        yield from node.get(key, {}).values()
    for key in _LISTS:
        yield from node.get(key, ())
    for key in _SINGLE:
        if key in node:
            yield node[key]


class _Asking:
    """All questions about one value."""

    def __init__(self, schemas: Mapping[int, Prepared]) -> None:
        self._schemas = schemas
        self._work = 0
        self._answers: dict[tuple[int, int], frozenset[str | int] | None] = {}

    def failures(self, schema: Any, value: Any, path: tuple[str | int, ...]) -> Iterator[Failure]:
        """See ``SchemaJudge.failures``."""
        if self.answer(schema, value) is not None:
            return
        if schema is False:
            yield Failure(keyword="", wanted=False, value=value, path=path)
            return
        seen: Seen = set()
        for keyword in self._schemas[id(schema)].keywords:
            before = set(seen)
            if RULES[keyword](self, schema, value, seen):
                continue
            wanted = schema[keyword]
            if keyword not in CHILDREN or (wanted is False and keyword in CLOSING):
                names = tuple(names_in_question(keyword, self, schema, value, before))
                yield Failure(keyword=keyword, wanted=wanted, value=value, path=path, names=names)
                continue
            for below, part, at in CHILDREN[keyword](self, schema, value, before):
                yield from self.failures(below, part, path if at is None else (*path, at))

    def answer(self, schema: Any, value: Any) -> frozenset[str | int] | None:
        """The names or positions that it asked about, where the value satisfies the schema; None where it does not."""
        if not isinstance(schema, dict):
            return None if schema is False else frozenset()
        key = (id(cast("object", schema)), id(value))
        self.spend(1)
        if key in self._answers:
            return self._answers[key]
        seen: Seen = set()
        for keyword in self._schemas[key[0]].keywords:
            if not RULES[keyword](self, schema, value, seen):
                self._answers[key] = None
                return None
        found = self._answers[key] = frozenset(seen)
        return found

    def spend(self, work: int) -> None:
        """Count what is about to be done."""
        self._work += work
        if self._work > MAX_WORK:
            raise TooMuchWork

    def prepared(self, schema: Any) -> Prepared:
        """What was read of a schema."""
        return self._schemas[id(schema)]

    def found(self, pattern: LinearPattern, text: str) -> bool:
        """Whether a pattern is in a text."""
        self.spend(pattern.size * len(text) // _STEPS_A_QUESTION)
        return pattern.found_in(text)
