"""Values of a run as a page may show them: with the process's own credentials masked, whoever gave them back."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from traced_loop.redaction.held_secrets import own_beginning, without_own

T = TypeVar("T")


def shown(value: T) -> T:
    """The same value, of the same kind, without own credentials in any text of it; other objects stay as they are."""
    return cast("T", _shown(value))


def shown_so_far(text: str) -> str:
    """A text that is still being written, without the end that may turn out to be the beginning of a credential."""
    return without_own(text[: len(text) - own_beginning(text)])


def _shown(value: Any) -> Any:
    if type(value) is str:
        return without_own(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _shown(getattr(value, field.name)) for field in fields(value)})
    if isinstance(value, Mapping):
        return {_shown(key): _shown(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        items = [_shown(item) for item in cast("list[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    return value
