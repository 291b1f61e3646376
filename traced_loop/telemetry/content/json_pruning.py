"""Any value as JSON of bounded size, before it is masked: what nobody could be shown anyway is not carried further.

Strings and containers far above every bound are cut here, so that masking and serialising take bounded time whatever
was said; bodies of files in base64 are left out. How many bytes went is counted.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from traced_loop.telemetry.attributes import cut, valid_text

MAX_STRING_BYTES: Final = 65_536
"""As much of one text as is searched for credentials; no attribute shows more."""
MAX_MEMBERS: Final = 5_000
"""Members of all containers of one value together."""
MAX_DEPTH: Final = 32
"""Deeper containers are left out: JSON parsers and the masking both recurse."""
_MAX_INTEGER_BITS: Final = 14_000
"""Python writes integers of up to 4,300 digits."""
_DATA_HEAD: Final = 128
"""Characters of a ``data:`` address before its body, at most."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A value that any JSON encoder takes, and the UTF-8 bytes that were cut off it."""

    value: Any
    removed: int = 0


def pruned(value: object) -> Pruned:
    """The value with everything else replaced; see the module."""
    pruning = _Pruning()
    plain = pruning.plain(value, MAX_DEPTH)
    return Pruned(plain, pruning.removed)


def truncated(size: int) -> str:
    """The mark of a cut text, with its true size in UTF-8 bytes."""
    return f"…[truncated {size} bytes]"


def left_out(mime_type: str, size: int) -> str:
    """The mark in place of a file's body, with its size in bytes."""
    return f"…[{mime_type}, {size} bytes left out]"


def size_of(text: str) -> int:
    """UTF-8 bytes of a text, valid or not."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def base64_body(text: str) -> tuple[str, int] | None:
    """Type and size of the file in a ``data:`` address with base64; None when it is none."""
    if not text.startswith("data:"):
        return None
    head, comma, _ = text[:_DATA_HEAD].partition(",")
    if not comma or not head.lower().endswith(";base64"):
        return None
    mime_type = head[len("data:") :].split(";", 1)[0] or "application/octet-stream"
    return mime_type, base64_size(len(text) - len(head) - 1)


def base64_size(characters: int) -> int:
    """Bytes that so many characters of base64 stand for, give or take the padding."""
    return characters * 3 // 4


class _Pruning:
    """One walk over a value."""

    def __init__(self) -> None:
        self.removed = 0
        self._left = MAX_MEMBERS

    def plain(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(value)
        if isinstance(value, int):
            return int(value) if value.bit_length() <= _MAX_INTEGER_BITS else f"<int of {value.bit_length()} bits>"
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value), depth)
        if isinstance(value, (list, tuple)):
            return self._list(list(cast("list[Any]", value)), depth)
        return f"<{type(value).__name__}>"

    def _text(self, value: str) -> str:
        body = base64_body(value)
        if body is not None:
            return left_out(*body)
        if len(value) <= MAX_STRING_BYTES // 4:
            return valid_text(value)
        shown = cut(value, MAX_STRING_BYTES)
        size = size_of(value)
        removed = size - size_of(shown)
        self.removed += max(0, removed)
        return shown + truncated(size) if removed > 0 else shown

    def _object(self, value: Mapping[Any, Any], depth: int) -> Any:
        if depth == 0:
            return f"…[object of {len(value)}, nested deeper]"
        fields: dict[str, Any] = {}
        for key, field in value.items():
            self._left -= 1
            if self._left < 0:
                fields["…"] = self._more(len(value) - len(fields))
                break
            fields[self._text(key if isinstance(key, str) else str(type(key).__name__))] = self.plain(field, depth - 1)
        return fields

    def _list(self, value: list[Any], depth: int) -> Any:
        if depth == 0:
            return f"…[list of {len(value)}, nested deeper]"
        items: list[Any] = []
        for item in value:
            self._left -= 1
            if self._left < 0:
                items.append(self._more(len(value) - len(items)))
                break
            items.append(self.plain(item, depth - 1))
        return items

    def _more(self, number: int) -> str:
        self.removed += number  # a byte each: their true size is not worth a walk
        return f"…[{number} more left out]"
