"""Any Python value as JSON text, the same text for the same value in every process."""

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from traced_loop.telemetry.attributes import cut, valid_text

MAX_DEPTH: Final = 64
"""Deeper values are cut: JSON readers and people both give up before."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def serialise(value: object) -> str:
    """JSON text of any value.

    Sets are sorted, bytes are text or base64, NaN and infinities become text, keys become text; models, dataclasses,
    dates, decimals and enums take their usual JSON form; anything else becomes ``<TypeName>`` (its ``repr`` may hold an
    address, which differs each time).
    """
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError):
        text = _encode(_plain(value, MAX_DEPTH))
    return valid_text(text)


def capped(text: str, limit: int) -> tuple[str, int, bool]:
    """The text if it has at most ``limit`` UTF-8 bytes, else its beginning as a JSON string with a marker.

    Returns:
        JSON text, true size in UTF-8 bytes, whether it was cut.
    """
    size = len(text) if text.isascii() else len(text.encode())
    if size <= limit:
        return text, size, False
    beginning = cut(text, limit)
    marker = f"…[cut: {len(beginning.encode())} of {size} bytes; ask for less]"
    return _encode(beginning + marker), size, True


def _plain(value: Any, depth: int) -> Any:
    if depth == 0:
        return "…[nested deeper]"
    if value is None or (isinstance(value, (bool, int)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Enum):
        return _plain(value.value, depth - 1)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {_key(k): _plain(v, depth - 1) for k, v in items}
    if isinstance(value, AbstractSet):
        members = [_plain(v, depth - 1) for v in cast("AbstractSet[Any]", value)]
        return sorted(members, key=_encode)
    if isinstance(value, (list, tuple)):
        return [_plain(v, depth - 1) for v in cast("list[Any]", value)]
    return _other(value, depth)


def _other(value: Any, depth: int) -> Any:
    """Models, dataclasses, dates and the like in their usual JSON form."""
    try:
        plain = to_jsonable_python(value, fallback=_opaque, bytes_mode="utf8", inf_nan_mode="strings")
    except (PydanticSerializationError, UnicodeDecodeError, ValueError, RecursionError):
        plain = _without_utf8(value)
    # Whatever came out may hold sets or odd keys of its own.
    return plain if isinstance(plain, str) else _plain(plain, depth - 1)


def _without_utf8(value: Any) -> Any:
    try:
        return to_jsonable_python(value, fallback=_opaque, bytes_mode="base64", inf_nan_mode="strings")
    except (PydanticSerializationError, ValueError, RecursionError):
        return _opaque(value)


def _opaque(value: Any) -> str:
    return f"<{type(value).__name__}>"


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    plain = _plain(key, 2)
    return plain if isinstance(plain, str) else _encode(plain)
