"""Text of a trace as a terminal may show it: what could move the cursor, hide or turn text round becomes an escape."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, format characters (bidi marks, zero-width and tag characters), surrogates, line and paragraph ends."""

_HIDDEN: Final = re.compile("[\u115f\u1160\u2065\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]")
"""What shows as nothing and is of another category: fillers, and what Unicode keeps for more of the same. The variation
selectors that emoji are written with are none of them."""
_NOT_PLAIN: Final = re.compile(r"[^ -~]")
"""What has to be looked at: a text can be megabytes long, and most of it is plain."""


def visible(text: str) -> str:
    r"""The text on one line, every unsafe character as ``\n``, ``\x1b``, ``\u202e`` or ``\U000e0041``."""
    if text.isprintable() and (text.isascii() or not _HIDDEN.search(text)):
        return text
    return _NOT_PLAIN.sub(_escaped, text)


def cut(text: str, limit: int | None) -> str:
    """At most ``limit`` characters, the last one an ellipsis where something was left out; None cuts nothing."""
    return text if limit is None or len(text) <= limit else f"{text[: limit - 1]}…"


def _escaped(found: re.Match[str]) -> str:
    return _shown(found[0])


@lru_cache(maxsize=8192)
def _shown(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE and not _HIDDEN.match(character):
        return character
    return _NAMED.get(character) or _numbered(ord(character))


def _numbered(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
