"""The arguments of a call as a person is shown them before a yes or a no: field by field, secrets masked, bounded."""

import json
from collections.abc import Mapping
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object
from traced_loop.redaction import Found, default_redactor
from traced_loop.views.visible import cut

MAX_VALUE_CHARACTERS: Final = 2_000
"""Characters of one value that are shown; how many there are is said beside a longer one."""
MAX_NAME_CHARACTERS: Final = 64
MAX_FIELDS: Final = 100
"""Fields that are shown; how many there are is said below more."""


@frozen_value
class ShownField:
    """One field.

    Attributes:
        name: of it.
        text: its value: text of several lines as it is, everything else as JSON.
        is_text: whether it is text of several lines.
        characters: of the whole value; 0 where all of it is shown.
    """

    name: str
    text: str
    is_text: bool = False
    characters: int = 0


@frozen_value
class ShownArguments:
    """All of them; ``masked`` values were secret, ``left_out`` fields are not among those that are shown."""

    fields: tuple[ShownField, ...] = ()
    masked: int = 0
    left_out: int = 0


def shown_arguments(arguments: Mapping[str, object]) -> ShownArguments:
    """What a page may show of arguments, masked by the rules for spans."""
    found: Found = {}
    fields = as_object(default_redactor().value(dict(arguments), found)) or {}
    shown = tuple(_field(name, value) for name, value in list(fields.items())[:MAX_FIELDS])
    return ShownArguments(fields=shown, masked=sum(found.values()), left_out=max(0, len(fields) - MAX_FIELDS))


def _field(name: str, value: object) -> ShownField:
    is_text = isinstance(value, str) and "\n" in value
    whole = value if isinstance(value, str) and is_text else json.dumps(value, ensure_ascii=False)
    return ShownField(
        name=cut(name, MAX_NAME_CHARACTERS),
        text=cut(whole, MAX_VALUE_CHARACTERS),
        is_text=is_text,
        characters=len(whole) if len(whole) > MAX_VALUE_CHARACTERS else 0,
    )
