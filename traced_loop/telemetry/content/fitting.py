"""JSON text within a bound, still JSON: long strings are cut first, then what lies between the first and the newest.

Every cut leaves a mark. A ``Piece`` is written at most once for each of a few levels of detail and remembers it, so a
message that is shown again costs nothing more.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from traced_loop.json_shapes import as_list, as_object
from traced_loop.telemetry.attributes import cut
from traced_loop.telemetry.content.genai_messages import text_message
from traced_loop.telemetry.content.json_pruning import size_of, truncated

OMITTED_ROLE: Final = "traced_loop"
"""Role of the message that stands for those that were left out: nobody's in the conversation."""

_FLOOR: Final = 256
"""Bytes of a text below which rather a message is left out than its text cut further."""
_SKELETON: Final = 0
"""The level on which only the kind and the size of a piece are told."""
_MIN_MEMBERS: Final = 8
_MARKER_BYTES: Final = 160
"""Room for the message that stands for what was left out."""
_LEAST_PIECE: Final = 24
"""No message is shorter: ``{"role":"","parts":[]}`` and its comma."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Fitted:
    """JSON text, and the UTF-8 bytes that it would have whole; None where it is whole."""

    text: str
    true_size: int | None = None


class Piece:
    """One value that is shown: a message, arguments, a result. Pruned and masked before."""

    __slots__ = ("_length", "_shorter", "_texts", "_value", "size")

    def __init__(self, value: Any, removed: int, shorter: Callable[[Any, int], Any]) -> None:
        """Take a value of which pruning has ``removed`` so many bytes; ``shorter`` gives it for a level."""
        text = _encode(value)
        self._length = size_of(text)
        self._value, self._shorter = value, shorter
        self._texts: dict[int, tuple[str, int]] = {self._length: (text, self._length)}
        self.size = self._length + removed

    def at(self, level: int) -> tuple[str, int]:
        """Its text with strings of at most ``level`` bytes, and the bytes of the whole text."""
        if level >= self._length:
            return self._texts[self._length]
        found = self._texts.get(level)
        if found is None:
            text = _encode(self._shorter(self._value, level))
            found = self._texts[level] = text, size_of(text)
        return found


def message_piece(message: dict[str, Any], removed: int) -> Piece:
    """A message, a part or a definition in a list."""
    return Piece(message, removed, _shorter_message)


def value_piece(value: Any, removed: int) -> Piece:
    """Arguments or a result."""
    return Piece(value, removed, _shorter_value)


def fit_value(piece: Piece, bound: int) -> Fitted:
    """One value as JSON text of at most ``bound`` bytes."""
    for level in (bound, *_levels(bound), _SKELETON):
        text, length = piece.at(level)
        if length <= bound:
            return Fitted(text, None if piece.size == length else piece.size)
    raise AssertionError("a skeleton fits every bound")


def fit_list(pieces: Sequence[Piece], bound: int) -> Fitted:
    """A list of them as JSON text of at most ``bound`` bytes, at least ``MIN_BYTES`` of ``capture``."""
    size = sum(piece.size for piece in pieces) + len(pieces) + 1 if pieces else 2
    if len(pieces) * _LEAST_PIECE < bound:
        for level in (bound, *_levels(bound)):
            texts = [piece.at(level) for piece in pieces]
            if sum(length for _, length in texts) + len(texts) + 1 <= bound:
                text = f"[{','.join([text for text, _ in texts])}]"
                return Fitted(text, None if size_of(text) == size else size)
    return Fitted(_without_middle(pieces, bound), size)


def _without_middle(pieces: Sequence[Piece], bound: int) -> str:
    *_, level = (bound, *_levels(bound))
    first, room = _shown(pieces[0], level, bound // 2), bound - _MARKER_BYTES
    room -= size_of(first)
    newest: list[str] = []
    for piece in reversed(pieces[1:]):
        text = _shown(piece, level, room - 1)
        room -= size_of(text) + 1
        if room < 0:
            break
        newest.append(text)
    missing = len(pieces) - 1 - len(newest)
    marker = [_encode(text_message(OMITTED_ROLE, f"…[{missing} messages left out]"))] if missing else []
    return f"[{','.join([first, *marker, *reversed(newest)])}]"


def _shown(piece: Piece, level: int, room: int) -> str:
    text, length = piece.at(level)
    return text if length <= room else piece.at(_SKELETON)[0]


def _levels(bound: int) -> Iterator[int]:
    """Bytes that a string may have, from much to little."""
    level = bound * 3 // 4
    while level >= _FLOOR:
        yield level
        level //= 2


def _shorter_message(message: dict[str, Any], level: int) -> dict[str, Any]:
    parts = as_list(message.get("parts"))
    if level == _SKELETON:
        kept: dict[str, Any] = {
            key: cut(str(message[key]), 64) for key in ("role", "type", "name", "finish_reason") if key in message
        }
        whole = truncated(size_of(_encode(message)))
        said = {"content": whole} if parts is None else {"parts": [{"type": "text", "content": whole}]}
        return {**kept, **said}
    if parts is None:
        return cast("dict[str, Any]", _shorter(message, level, _members(level)))
    most = _members(level)
    shown = [_shorter_part(part, level) for part in parts]
    if len(shown) > most:
        marker = {"type": "text", "content": f"…[{len(shown) - most + 1} parts left out]"}
        shown = [*shown[: most // 2], marker, *shown[len(shown) - (most - most // 2 - 1) :]]
    rest = {key: value for key, value in message.items() if key != "parts"}
    return {**cast("dict[str, Any]", _shorter(rest, level, most)), "parts": shown}


def _shorter_part(part: dict[str, Any], level: int) -> dict[str, Any]:
    """Its texts cut; an object in it that is still too large becomes the beginning of its own text."""
    return {key: value if key == "type" else _shorter_value(value, level) for key, value in part.items()}


def _shorter_value(value: Any, level: int) -> Any:
    if level == _SKELETON:
        text = value if isinstance(value, str) else _encode(value)
        return cut(text, 64) + truncated(size_of(text))
    shown: object = _shorter(value, level, _members(level))
    if isinstance(shown, (dict, list)):
        text = _encode(cast("object", shown))
        if size_of(text) > 2 * level:
            return cut(text, level) + truncated(size_of(_encode(value)))
    return cast("object", shown)


def _members(level: int) -> int:
    return max(_MIN_MEMBERS, level // 32)


def _shorter(value: Any, level: int, most: int) -> Any:
    if isinstance(value, str):
        return _cut(value, level)
    fields, items = as_object(value), as_list(value)
    if fields is not None:
        shown = {cut(key, level): _shorter(field, level, most) for key, field in list(fields.items())[:most]}
        return shown if len(fields) <= most else {**shown, "…": f"[{len(fields) - most} more left out]"}
    if items is not None:
        kept = [_shorter(item, level, most) for item in items[:most]]
        return kept if len(items) <= most else [*kept, f"…[{len(items) - most} more left out]"]
    return value


def _cut(text: str, level: int) -> str:
    size = size_of(text)
    if size <= level:
        return text
    beginning = cut(text, level)
    return beginning + (_true_size_mark(text) or truncated(size))


def _true_size_mark(text: str) -> str | None:
    """The mark that pruning has put at the end of a text: it knows the true size, and we do not."""
    at = text.rfind("…[truncated ", max(0, len(text) - 40))
    return text[at:] if at >= 0 and text.endswith(" bytes]") else None
