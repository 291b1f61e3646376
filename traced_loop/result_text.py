"""Any Python value as JSON text, the same text for the same value in every process."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import islice
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from traced_loop.json_shapes import as_object
from traced_loop.telemetry.attributes import cut, valid_text

MAX_DEPTH: Final = 64
"""Deeper values are cut: JSON readers and people both give up before."""
MAX_NODES: Final = 100_000
"""A generator without an end stops here."""
MAX_WRITTEN: Final = 200_000
"""What has more members, each counted as often as it is written, is cut at ``MAX_NODES``."""
MAX_INTEGER_BITS: Final = 14_000
"""Python writes integers of up to 4,300 digits."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def serialise(value: object) -> str:
    """JSON text of any value.

    Sets are sorted, bytes are text or base64, NaN and infinities become text, keys become text; models, dataclasses,
    dates, decimals and enums take their usual JSON form; anything else becomes ``<TypeName>`` (its ``repr`` may hold an
    address, which differs each time). What holds itself, nests deeper than ``MAX_DEPTH`` or has more than ``MAX_NODES``
    members is cut there.
    """
    try:
        text = _encode(value if _few(value) else _Plainer().plain(value, MAX_DEPTH))
    except (TypeError, ValueError, RecursionError):
        text = _encode(_Plainer().plain(value, MAX_DEPTH))
    return valid_text(text)


def capped(text: str, limit: int) -> tuple[str, int, bool]:
    """The text if it has at most ``limit`` UTF-8 bytes, else its beginning as a JSON string with a marker.

    Returns:
        JSON text of at most ``limit`` bytes, true size in UTF-8 bytes, whether it was cut.
    """
    size = len(text) if text.isascii() else len(text.encode())
    if size <= limit:
        return text, size, False
    room = limit
    while True:
        beginning = cut(text, room)
        shown = _encode(f"{beginning}…[cut: {len(beginning.encode())} of {size} bytes; ask for less]")
        over = len(shown.encode()) - limit
        if over <= 0 or room == 0:
            return shown, size, True
        # Quotes and backslashes take two bytes inside of a string: come closer by what is too much.
        room = max(0, room - max(1, over // 2))


def _few(value: object) -> bool:
    """Whether an encoder would write at most ``MAX_WRITTEN`` members; a list within lists is written each time."""
    left, open_containers = MAX_WRITTEN, [value]
    while open_containers:
        node = open_containers.pop()
        if issubclass(type(node), dict):
            members: Any = dict[Any, Any].values(cast("dict[Any, Any]", node))
        elif issubclass(type(node), list):
            members = list[Any].copy(cast("list[Any]", node))  # as it is, whatever a subclass makes of it
        elif issubclass(type(node), tuple):
            members = tuple[Any, ...].__getitem__(cast("tuple[Any, ...]", node), slice(None))
        else:
            continue
        left -= len(members)
        if left < 0:
            return False
        open_containers.extend(member for member in members if issubclass(type(member), (dict, list, tuple)))
    return True


class _Plainer:
    """One value made of what JSON knows."""

    def __init__(self) -> None:
        self._above: set[int] = set()
        self._left = MAX_NODES

    def plain(self, value: Any, depth: int) -> Any:
        """The value with everything else replaced."""
        self._left -= 1
        if depth == 0:
            return "…[nested deeper]"
        if self._left < 0:
            return "…[too many members]"
        if value is None or isinstance(value, (bool, int, float, str, Enum)):
            return self._plain_scalar(value, depth)
        if id(value) in self._above:
            return "…[holds itself]"
        self._above.add(id(value))
        try:
            return self._plain_container(value, depth - 1)
        finally:
            self._above.discard(id(value))

    def _plain_scalar(self, value: Any, depth: int) -> Any:
        if isinstance(value, Enum):
            return self.plain(value.value, depth - 1)
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > MAX_INTEGER_BITS:
            return hex(value)  # Python refuses to write longer ones in decimal
        return value

    def _plain_container(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {self._key(k): self.plain(v, depth) for k, v in items}
        if isinstance(value, AbstractSet):
            members = [self.plain(v, depth) for v in cast("AbstractSet[Any]", value)]
            return sorted(members, key=_encode)
        if isinstance(value, (Sequence, Iterator)) and not isinstance(value, (bytes, bytearray, memoryview)):
            begun = islice(cast("Iterable[Any]", value), max(0, self._left) + 1)
            return [self.plain(v, depth) for v in begun]
        fields = _fields(value)
        return self.plain(fields, depth) if fields is not None else _scalar_text(value)

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return key
        plain = self.plain(key, 3)
        return plain if isinstance(plain, str) else _encode(plain)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """What a dataclass or a model holds, by name; its sets are still sets, whose order no encoder keeps."""
    if isinstance(value, type):
        return None
    if is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    return as_object(value.model_dump()) if isinstance(value, BaseModel) else None


def _scalar_text(value: Any) -> Any:
    """Dates, decimals, paths, bytes and the like in their usual JSON form."""
    for bytes_mode in ("utf8", "base64"):
        try:
            return to_jsonable_python(value, fallback=_opaque, bytes_mode=bytes_mode, inf_nan_mode="strings")
        except (PydanticSerializationError, ValueError, RecursionError):
            continue
    return _opaque(value)


def _opaque(value: Any) -> str:
    return f"<{type(value).__name__}>"
