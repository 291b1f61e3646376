"""What a caller gives for the provider, as it can be sent: JSON that is refused here would fail inside of a client."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from traced_loop.errors import UsageError
from traced_loop.json_shapes import as_list, as_object
from traced_loop.telemetry.attributes import valid_text

MAX_DEPTH: Final = 128
"""Deeper values, and those that hold themselves, cannot be written."""


def sendable(name: str, value: Any) -> Any:
    """The value with every unpaired surrogate replaced by U+FFFD; itself where there is none.

    Args:
        name: what the caller calls it, for the message.
        value: what is to be sent.

    Raises:
        UsageError: it has no JSON form; says what, and where in it.
    """
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _valid(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(next(_faults(name, value, MAX_DEPTH), f"{name} has no JSON form: {error}")) from error
    return value


def _valid(value: Any) -> Any:
    fields, items = as_object(value), as_list(value)
    if fields is not None:
        return {valid_text(key): _valid(item) for key, item in fields.items()}
    if items is not None:
        return [_valid(item) for item in items]
    return valid_text(value) if isinstance(value, str) else value


def _faults(where: str, value: Any, depth: int) -> Iterator[str]:
    """What JSON cannot write, one sentence each."""
    if depth == 0:
        yield f"{where[:80]}... nests deeper than {MAX_DEPTH}, or holds itself"
    elif isinstance(value, dict):
        for key, inner in cast("dict[Any, Any]", value).items():
            if not isinstance(key, str):
                yield f"{where} has the key {key!r}, which is no text"
            yield from _faults(f"{where}[{key!r}]", inner, depth - 1)
    elif isinstance(value, (list, tuple)):
        for position, inner in enumerate(cast("Sequence[Any]", value)):
            yield from _faults(f"{where}[{position}]", inner, depth - 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield f"{where} is {value}, a number that JSON does not have"
    elif value is not None and not isinstance(value, (str, bool, int)):
        yield f"{where} is a {type(value).__name__}, which has no JSON form"
