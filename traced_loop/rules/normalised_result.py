"""A result's text without what differs each time and says nothing: so that a repetition can be seen behind it.

JSON has its canonical form, what is volatile is masked, white space is one space. Nothing is ever masked in arguments,
where each digit counts. Pure, and in time proportional to the text, whatever the text.
"""

import json
import re
from typing import Any, Final

from traced_loop.canonical_json import canonical
from traced_loop.frozen_value import frozen_value
from traced_loop.late_pattern import late_pattern
from traced_loop.rules.volatile_text import mask_volatile

MAX_CHARACTERS: Final = 65_536
"""Of a longer text only head and tail are looked at, as many characters in all."""
_HEAD, _TAIL = (49_152, 32_768), (16_384, 8_192)
"""Characters that are looked at, and how many of their normal form count: the rest is room, so that a clock of another
width moves no border. What counts of the head is at least what the model itself is told by default."""
MAX_NUMBERS: Final = 1_024
"""A result with more numbers is a table: it is compared as a whole."""

_NUMBER: Final = late_pattern(
    r"([-0-9](?<![A-Za-z0-9_.].)(?<![A-Za-z0-9_]-.)(?:(?<=[0-9])[0-9]*+|(?<=-)[0-9]++)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    r"(?!\.[0-9])(?!-?[A-Za-z_]*[0-9])(?![eE]\+[0-9])"
)
"""A number that stands for itself, a unit behind it or not. What is glued to letters, or has two dots or a dash in it,
is the name of something (``A100``, ``v2``, ``T-17``, ``10.0.0.1``): another one is another thing, not a number that
moved."""
_QUOTED: Final = late_pattern(r"(?<![A-Za-z0-9])(['\"`])[^'\"`]{0,200}+\1(?![A-Za-z0-9])")
_ESCAPE: Final = late_pattern(r"\\(?:u[0-9a-fA-F]{4}|.)", re.S)
_JSON_BEGINS: Final = frozenset('{["')


@frozen_value
class NormalForm:
    """A result without what is volatile.

    Attributes:
        text: the normal form.
        masked: the same with every number as ``<n>``.
        numbers: these numbers in their order; none where there are more than ``MAX_NUMBERS``.
        whole: False where only head and tail of the text were looked at.
    """

    text: str
    masked: str
    numbers: tuple[float, ...]
    whole: bool


def normalised(text: str) -> NormalForm:
    """The normal form of a result, given as JSON text or as plain text."""
    whole = len(text) <= MAX_CHARACTERS
    masked = mask_volatile(_plain(text)) if whole else _masked_ends(text)
    parts = _NUMBER.split(masked)
    few = len(parts) // 2 <= MAX_NUMBERS
    numbers = tuple(map(float, parts[1::2])) if few else ()
    return NormalForm(text=masked, masked="<n>".join(parts[::2]), numbers=numbers, whole=whole)


def normalised_error(text: str) -> tuple[str, str]:
    """An error's text without what is volatile, and its signature: also without numbers and what stands in quotes."""
    normal = mask_volatile(text) if len(text) <= MAX_CHARACTERS else _masked_ends(text)
    return normal, _signature(normal)


def signature(form: NormalForm) -> str:
    """A result that tells of an error without numbers and what stands in quotes: the same for other arguments."""
    return _signature(form.text)


def _signature(text: str) -> str:
    return "<n>".join(_NUMBER.split(_QUOTED.sub("<quoted>", text))[::2])


def _plain(text: str) -> str:
    """JSON in its canonical form, with the escapes of white space as white space; other text as it is.

    Text inside of a JSON string, which is how a tool's text result is recorded, is that text.
    """
    value = _parsed(text)
    if isinstance(value, str):
        text, value = value, _parsed(value)
    if isinstance(value, (dict, list)):
        return _without_escapes(canonical(value))
    return text


def _parsed(text: str) -> Any:
    """The JSON value, or None where it is none."""
    if text.lstrip()[:1] not in _JSON_BEGINS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _masked_ends(text: str) -> str:
    head, tail = (mask_volatile(_without_escapes(end)) for end in (text[: _HEAD[0]], text[-_TAIL[0] :]))
    return f"{head[: _HEAD[1]]} … {tail[-_TAIL[1] :]}"


def _without_escapes(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(escape: re.Match[str]) -> str:
    return " " if escape[0][1] in "nrtfbu" else escape[0]
