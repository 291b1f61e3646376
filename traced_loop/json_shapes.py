"""Narrowing of parsed JSON: ``None`` instead of a crash where a value has another shape than hoped for."""

from collections.abc import Mapping
from typing import Any, cast


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value if it is a mapping, as one with text keys; else None."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> list[Any] | None:
    """The value if it is a list; else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def as_text(value: object) -> str | None:
    """The value if it is text that is not empty; else None."""
    return value if isinstance(value, str) and value else None
