"""What may stand on a span: valid UTF-8, bounded, finite, of the types that OTLP knows.

Every attribute passes ``clean`` once, on its way to the span and the store alike.
"""

import math
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from traced_loop.names import TRUNCATED_PREFIX
from traced_loop.telemetry.redaction import redact_text

AttributeValue = str | bool | int | float | tuple[str, ...]
Attributes = Mapping[str, AttributeValue]

MAX_VALUE_BYTES: Final = 4_096
"""Bound on one attribute value: sixty of them stay far below a receiver's 4 MiB message."""
MAX_NAME_BYTES: Final = 128
"""Bound on span names and keys."""
MAX_ITEMS: Final = 64
"""Bound on the members of a list."""
_INT64: Final = 2**63


@dataclass(slots=True)
class Hygiene:
    """Counts what was changed, for the receipt."""

    truncated: int = 0
    redacted: int = 0


def clean(raw: Mapping[str, Any], hygiene: Hygiene, redact: Callable[[str], str] = redact_text) -> dict[str, Any]:
    """The attributes as they may be set.

    None, NaN and infinities are left out; integers beyond 64 bits become text; text is masked, made valid UTF-8 and
    cut to ``MAX_VALUE_BYTES`` at a character boundary, with its true size beside it.
    """
    out: dict[str, Any] = {}
    for key, value in raw.items():
        if isinstance(value, str):
            _set_text(out, key, value, hygiene, redact)
        elif isinstance(value, bool):
            out[key] = value
        elif isinstance(value, int):
            out[key] = value if -_INT64 <= value < _INT64 else str(value)[:MAX_NAME_BYTES]
        elif isinstance(value, float):
            if math.isfinite(value):
                out[key] = value
        elif isinstance(value, (list, tuple)):
            items = cast("Sequence[object]", value)
            texts = (_text(redact(str(item)))[0] for item in items[:MAX_ITEMS])
            out[key] = tuple(texts)
            if len(items) > MAX_ITEMS:
                hygiene.truncated += 1
    return out


def clean_name(name: str) -> str:
    """A span name, an event name or a key: valid UTF-8, bounded, never empty."""
    return cut(name, MAX_NAME_BYTES) or "_"


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


def _text(text: str) -> tuple[str, bool]:
    shortened = cut(text, MAX_VALUE_BYTES)
    return shortened, len(shortened) < len(text)


def _set_text(
    out: MutableMapping[str, Any], key: str, value: str, hygiene: Hygiene, redact: Callable[[str], str]
) -> None:
    masked = redact(value)
    if masked != value:
        hygiene.redacted += 1
    out[key], was_cut = _text(masked)
    if was_cut:
        hygiene.truncated += 1
        out[TRUNCATED_PREFIX + key] = len(value.encode(errors="replace"))
