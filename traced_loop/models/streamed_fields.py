"""JSON objects that come in pieces: what was said of a field before, and what a later piece makes of it.

Strings grow, lists are extended, objects are merged field by field, everything else is replaced; null says nothing.
Each piece costs its own length: strings are joined once, at the end.
"""

from collections.abc import Mapping
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object
from traced_loop.late_pattern import late_pattern

_WHOLE: Final = frozenset({"type", "id", "index", "format", "role"})
"""Fields that name something: they come whole, again and again, and do not grow."""
_SURROGATE: Final = late_pattern("[\ud800-\udfff]")


class GrowingText:
    """A string that comes in pieces."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = list(pieces)

    def whole(self) -> str:
        """All of it by now; a character whose two escapes came in two pieces is one."""
        return joined(self.pieces)


class GrowingList:
    """A list that comes in pieces: items of the same ``index`` are one item, others follow one another."""

    def __init__(self) -> None:
        self._items: list[object] = []
        self._places: dict[int, int] = {}

    def take(self, items: list[Any]) -> None:
        """Add the items of one piece."""
        for item in items:
            index = (as_object(item) or {}).get("index")
            place = self._places.get(index) if isinstance(index, int) else None
            if place is not None:
                self._items[place] = grown(self._items[place], item)
                continue
            if isinstance(index, int):
                self._places[index] = len(self._items)
            self._items.append(grown(None, item))

    def say(self, text: str) -> None:
        """Add a text part, which the texts right after it continue."""
        last = self._items[-1] if self._items else None
        if not (isinstance(last, GrowingObject) and last.of_type("text")):
            last = GrowingObject()
            last.take({"type": "text"})
            self._items.append(last)
        last.take({"text": text})

    def whole(self) -> list[Any]:
        """All of it by now."""
        return [whole(item) for item in self._items]


class GrowingObject:
    """An object that comes in pieces."""

    def __init__(self) -> None:
        self._fields: dict[str, object] = {}

    def take(self, fields: Mapping[str, Any]) -> None:
        """Add the fields of one piece."""
        for name, value in fields.items():
            before = self._fields.get(name)
            if name in _WHOLE:
                says_nothing = value is None or value == ""
                self._fields[name] = before if says_nothing and before is not None else value
            else:
                self._fields[name] = grown(before, value)

    def of_type(self, word: str) -> bool:
        """Whether the field ``type`` is this word."""
        return self._fields.get("type") == word

    def whole(self) -> dict[str, Any]:
        """All of it by now."""
        return {name: whole(value) for name, value in self._fields.items()}


def grown(before: object, value: object) -> object:
    """What a field holds after a piece that holds ``value``; ``before`` is None where nothing was said of it."""
    if value is None:
        return before
    if isinstance(value, str):
        return _said(before, value)
    fields, items = as_object(value), as_list(value)
    if fields is not None:
        inside = before if isinstance(before, GrowingObject) else GrowingObject()
        inside.take(fields)
        return inside
    if items is not None:
        return _extended(before, items)
    return value


def whole(node: object) -> Any:
    """What a node holds by now, as plain JSON."""
    return node.whole() if isinstance(node, (GrowingText, GrowingList, GrowingObject)) else node


def joined(pieces: list[str]) -> str:
    """The pieces as one text; a character whose two escapes came in two pieces is one."""
    text = "".join(pieces)
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _said(before: object, text: str) -> object:
    if isinstance(before, GrowingText):
        before.pieces.append(text)
        return before
    if isinstance(before, GrowingList):
        if text:
            before.say(text)
        return before
    return GrowingText(text)


def _extended(before: object, items: list[Any]) -> GrowingList:
    if isinstance(before, GrowingList):
        before.take(items)
        return before
    after = GrowingList()
    if isinstance(before, GrowingText) and (said := before.whole()):
        after.say(said)
    after.take(items)
    return after
