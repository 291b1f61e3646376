"""Credentials in headers: the values of cookies, and the user and password of basic authentication."""

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.markers import is_marked
from traced_loop.redaction.opaque import is_placeholder
from traced_loop.redaction.rule import Place

_COOKIE: Final = late_pattern(r"cookie(?:2|s)?(?:\\{0,8}[\"']\]?)?\s{0,3}[:=]\s{0,3}(?:\\{0,8}[\"'])?")
_PAIR: Final = late_pattern(r"(?P<name>[!#$%&*+.^_|~\w-]{1,64}+)=(?P<value>\"?[^;\s\"'\\,]{1,4096}+)")
_NEXT: Final = late_pattern(r"(?i)\"?;\s{0,3}(?:(?:secure|httponly|partitioned)\b;?\s{0,3})*")
_HARMLESS: Final = late_pattern(
    r"(?i)(?:path|domain|expires|max-age|samesite|version|priority|secure|httponly|partitioned"
    r"|theme|lang|language|locale|currency|tz|timezone|country|consent|region)\Z"
)
"""Attributes of a cookie, and cookies that hold no more than a preference."""
_MAX_PAIRS: Final = 64
_MIN_VALUE: Final = 4
_BASIC: Final = late_pattern(r"(?i)(?<![\w-])basic[ :]+(?P<value>[A-Za-z0-9+/_-]{6,}={0,2})")


def cookies(text: str, lowered: str) -> Iterator[Place]:
    """Where the values of Cookie and Set-Cookie headers lie; names and attributes stay."""
    for header in _COOKIE.finditer(lowered):
        pair = _PAIR.match(text, header.end())
        for _ in range(_MAX_PAIRS):
            if pair is None:
                break
            value = pair["value"].lstrip('"')
            if not _HARMLESS.match(pair["name"]) and _is_told(value):
                yield pair.end() - len(value), pair.end()
            rest = _NEXT.match(text, pair.end())
            pair = _PAIR.match(text, rest.end()) if rest is not None else None


def _is_told(value: str) -> bool:
    return len(value) >= _MIN_VALUE and not is_placeholder(value) and not is_marked(value)


def basic_credentials(text: str, lowered: str) -> Iterator[Place]:
    """Where the base64 that follows ``Basic`` lies, if it is that of a user and a password."""
    del lowered
    for match in _BASIC.finditer(text):
        if _is_user_and_password(match["value"]):
            yield match.span("value")


def _is_user_and_password(value: str) -> bool:
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    return ":" in plain and plain.isprintable()
