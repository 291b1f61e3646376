"""One text for all JSON texts that mean the same."""

import json
from typing import Any, cast

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical(value: Any) -> str:
    """The canonical text of a JSON value; two texts are equal exactly where no reader could tell the values apart.

    Keys are sorted by code point, nothing is between the members, floats are the shortest text that reads back the
    same. ``1`` and ``1.0`` differ, as they do for a tool; ``-0.0`` is ``0.0``. Text stays as it is, code point by code
    point: the composed and the decomposed form of a letter differ, as two file names do. Unpaired surrogates stay too.

    Takes time in proportion to the value, but for the sorting.

    Raises:
        RecursionError: nested deeper than Python's own limit, about a thousand; arguments and results end at 64.
    """
    text = _encode(value)
    # The test is a search for bytes; the walk is for the rare values in which it finds something.
    return _encode(_with_one_zero(value)) if "-0.0" in text else text


def _with_one_zero(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0  # -0.0 + 0.0 is 0.0; nothing else changes
    if isinstance(value, dict):
        return {key: _with_one_zero(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_with_one_zero(inner) for inner in cast("list[Any]", value)]
    return value
