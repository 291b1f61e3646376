"""What may stand on a span: valid UTF-8, bounded, finite, of the types that OTLP knows.

Every attribute passes ``clean`` once, on its way to the span and the store alike.
"""

import math
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, cast

from traced_loop.names import CONTENT_KEYS, MADE_HERE, TRUNCATED_PREFIX
from traced_loop.redaction import Redactor, default_redactor

AttributeValue = str | bool | int | float | tuple[str, ...]
Attributes = Mapping[str, AttributeValue]

MAX_VALUE_BYTES: Final = 4_096
"""Bound on one attribute value; ``span_attributes`` bounds them together."""
MAX_NAME_BYTES: Final = 128
"""Bound on span names and keys."""
MAX_ITEMS: Final = 64
"""Bound on the members of a list."""
MAX_MASKED_CHARACTERS: Final = 65_536
"""How much of one value is searched for credentials."""
_INT64: Final = 2**63


@dataclass(slots=True)
class Hygiene:
    """How attributes are masked, and the counts of what was changed, for the receipt.

    Attributes:
        redactor: finds what must not be shown.
        truncated: values and links that were cut or left out to fit.
        redacted: values in which something was masked.
        redactions: what was masked, by rule.
    """

    redactor: Redactor = field(default_factory=default_redactor)
    truncated: int = 0
    redacted: int = 0
    redactions: dict[str, int] = field(default_factory=dict[str, int])

    def masked(self, text: str) -> str:
        """The text as it may be shown, at most ``MAX_MASKED_CHARACTERS`` of it; what was found is counted by rule."""
        beginning = text if len(text) <= MAX_MASKED_CHARACTERS else text[:MAX_MASKED_CHARACTERS]
        return self.redactor.text(beginning, self.redactions)


def clean(raw: Mapping[str, Any], hygiene: Hygiene) -> dict[str, Any]:
    """The attributes as they may be set.

    None, NaN, infinities and values of other types are left out; integers beyond 64 bits become text; text is masked,
    made valid UTF-8 and cut to ``MAX_VALUE_BYTES`` at a character boundary, with its true size beside it. A list
    becomes a tuple of texts that fit into the same bound together. Text under a key of ``CONTENT_KEYS`` was masked
    and fitted where it was made: it stays whole, and ``span_attributes`` leaves it out whole where it has no room.
    Closed words and what ``MADE_HERE`` names are not searched: they cost a search per span and can hold nothing.
    """
    out: dict[str, Any] = {}
    for given, value in raw.items():
        if value is None:
            continue  # half of what is given says that there is nothing to say
        key = _clean_key(given) if len(given) <= MAX_NAME_BYTES else clean_name(given)
        if isinstance(value, str):
            if key in MADE_HERE or isinstance(value, StrEnum):
                out[key] = cut(str(value), MAX_VALUE_BYTES)
            else:
                _set_text(out, key, value, hygiene)
        elif isinstance(value, bool):
            out[key] = value
        elif isinstance(value, int):
            out[key] = value if -_INT64 <= value < _INT64 else _long_integer(value)
        elif isinstance(value, float):
            if math.isfinite(value):
                out[key] = value
        elif isinstance(value, (list, tuple)):
            _set_texts(out, key, cast("Sequence[object]", value), hygiene)
    return out


def clean_name(name: str) -> str:
    """A span name, an event name or a key: valid UTF-8, bounded, never empty."""
    return cut(name, MAX_NAME_BYTES) or "_"


_clean_key: Final = lru_cache(maxsize=1_024)(clean_name)
"""Nearly every key is a constant; a long one is none, and is not kept."""


def valid_text(text: str) -> str:
    """The text with every unpaired surrogate replaced by U+FFFD; itself when there is none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cut(text: str, limit: int) -> str:
    """At most ``limit`` UTF-8 bytes of the text, never half a character."""
    if len(text) * 4 <= limit or (len(text) <= limit and text.isascii()):
        return valid_text(text)
    # No more than `limit` characters can fit, so a huge text is never encoded whole.
    return valid_text(text[:limit]).encode()[:limit].decode(errors="ignore")


def _set_text(out: MutableMapping[str, Any], key: str, value: str, hygiene: Hygiene) -> None:
    if key in CONTENT_KEYS:
        out[key] = valid_text(value)
        return
    # A huge text is masked in its beginning only, which still holds all that can be shown.
    found = hygiene.masked(value)
    if found is value and len(value) * 4 <= MAX_VALUE_BYTES:
        out[key] = valid_text(value)
        return
    masked, whole = valid_text(found), len(value) <= MAX_MASKED_CHARACTERS
    if whole and masked != valid_text(value):
        hygiene.redacted += 1
    out[key] = shown = cut(masked, MAX_VALUE_BYTES)
    if not whole or len(shown) < len(masked):
        hygiene.truncated += 1
        out[TRUNCATED_PREFIX + key] = len(value.encode(errors="replace"))


def _set_texts(out: MutableMapping[str, Any], key: str, items: Sequence[object], hygiene: Hygiene) -> None:
    texts = [valid_text(item if isinstance(item, str) else _shown(item)) for item in items[:MAX_ITEMS]]
    masked = [hygiene.masked(text) for text in texts]
    room = MAX_VALUE_BYTES // max(1, len(masked))
    out[key] = tuple(cut(text, room) for text in masked)
    hygiene.redacted += any(m != t for t, m in zip(texts, masked, strict=True))
    hygiene.truncated += len(items) > MAX_ITEMS or any(len(text.encode()) > room for text in masked)


def _shown(item: object) -> str:
    """A number or a word as text; anything else by its type, because its text is unknown territory."""
    return str(item) if isinstance(item, (bool, float)) or item is None else _integer_or_type(item)


def _integer_or_type(item: object) -> str:
    if isinstance(item, int):
        return str(item) if -_INT64 <= item < _INT64 else _long_integer(item)
    return f"<{type(item).__name__}>"


def _long_integer(value: int) -> str:
    """Decimal digits where Python gives them; converting very long ones is refused, and slow."""
    return str(value) if value.bit_length() <= MAX_NAME_BYTES * 3 else f"<int of {value.bit_length()} bits>"
