"""Narrowing of parsed JSON: ``None`` instead of a crash where a value has another shape than hoped for."""

from collections.abc import Mapping
from typing import Any, cast


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value if it is a mapping, as one with text keys; else None."""
    # What parsed JSON is made of first: the abstract check costs several times as much, and a trace has a million of
    # these.
    if isinstance(value, dict):
        return cast("Mapping[str, Any]", value)
    if value is None or isinstance(value, (str, list, int, float)):
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> list[Any] | None:
    """The value if it is a list; else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def as_text(value: object) -> str | None:
    """The value if it is text that is not empty; else None."""
    return value if isinstance(value, str) and value else None


def deeper_than(value: object, limit: int) -> bool:
    """Whether containers nest deeper; walks level by level, so that depth cannot exhaust the stack."""
    level: list[object] = [value]
    for _ in range(limit):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: object) -> list[Any]:
    fields = as_object(node)
    values = list(fields.values()) if fields is not None else as_list(node) or []
    return [child for child in values if isinstance(child, (dict, list))]
