"""How far the value behind a secret's key goes, and whether it is masked: by quotes, by the sign, by its looks."""

import re
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.key_names import Strength
from traced_loop.redaction.markers import VEILED, is_marked
from traced_loop.redaction.opaque import fits, is_code, is_location, is_placeholder, is_sentence, is_word, looks_opaque
from traced_loop.redaction.rule import Place

QUOTE: Final = r"(?:\\{0,8}[\"'`]|&quot;|&\x233[49];|&apos;|[“”「『]|«\s?)"
"""What opens a value; escaped in JSON in JSON, encoded in HTML."""
_CLOSERS: Final = {"“": "”", "「": "」", "『": "』", "«": "»"}
_OPENING: Final = late_pattern(
    rf"(?:(?:\[\]byte|String|SecretStr|Secret|str|bytes)?\(\s{{0,8}})?[bfru]{{0,2}}(?P<quote>{QUOTE})"
)
_NEXT_PIECE: Final = late_pattern(r"[ \t]*[+\\]?[ \t]*\r?\n[ \t]*[bfru]?(?P<quote>[\"'])")
"""A literal that goes on in the next line."""
_MAX_QUOTED: Final = 8_192
_SCHEME: Final = late_pattern(
    r"(?i)(?:bearer|basic|token|apikey|api-key|key|digest|negotiate|ssws|splunk|bot|discogs|hmac|pre|plain"
    r"|aws4-hmac-sha256|genie\w*)[ :=]+"
)
_UNQUOTED: Final = late_pattern(
    r"[^\s\"'`<>&;,|“”「」»\uff0c\u3002\uff1b\u3001\uff08\uff09\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af(){}]{1,16384}+"
)
_MAX_JUDGED: Final = 512
"""A longer value without quotes is judged by its beginning."""
_ENCODED_END: Final = late_pattern(r"%26|%23|%22|%7[dD]|%0[aAdD]|%20|%2[cC]")
_ESCAPED_END: Final = late_pattern(r"\\[nrt]")
_TAGGED: Final = late_pattern(r"[^<>\n]{1,4096}+(?=</)")
_TRAILING: Final = ".:!?)]*"
_TRAILING_TIGHT: Final = ".:)]\\"
_AUTH_SCHEME: Final = late_pattern(r"[A-Za-z][\w-]{1,30} +")
_AUTH_VALUE: Final = late_pattern(r"[^\r\n\"'`\\<>|{}]{1,4096}+(?:\"[^\"\r\n]{0,512}\"[^\r\n\"'`\\<>|{}]{0,512}){0,16}")
_MASKED_COOKIE: Final = late_pattern(r"[^\s=\[]{1,64}=(?:\[REDACTED|\[\u2588)")
_DATABASES: Final = ("postgres", "mysql", "mongodb", "redis", "amqp")
_MIN_SAID: Final = 4
_MIN_LISTED: Final = 12
_MIN_ASSIGNED: Final = 3


@frozen_value
class Key:
    """The key in front of a value, and how it is joined to it.

    Attributes:
        name: in lower case, with the word before it.
        strength: ``any``, ``opaque`` or ``random``.
        sign: what stands between; empty where it is a verb, a tag or the gap behind a flag.
        tight: no space follows the sign, so what follows is a value even where it is a word.
        said: a verb joins them, as in ``the password is ...``.
        listed: a comma or a bracket joins them, as in ``("password", "...")``: many a list only names fields.
        tag: the value is the text of an XML element.
    """

    name: str
    strength: Strength
    sign: str
    tight: bool
    said: bool = False
    listed: bool = False
    tag: bool = False


def value_behind(text: str, at: int, key: Key) -> Place | None:
    """The part to mask of the value that begins here, or None."""
    if key.tag:
        tagged = _TAGGED.match(text, at)
        return _judged_quoted(key, tagged[0], tagged.span()) if tagged is not None else None
    opening = _OPENING.match(text, at)
    if opening is not None:
        return _quoted(text, opening, key)
    return _header(text, at) if "authorization" in key.name else _unquoted(text, at, key)


def _quoted(text: str, opening: re.Match[str], key: Key) -> Place | None:
    quote = opening["quote"].strip()
    close = text.find(_CLOSERS.get(quote, quote), opening.end(), opening.end() + _MAX_QUOTED)
    if close < 0:
        line = text.find("\n", opening.end())
        close = line if line >= 0 else len(text)
    end, value = close, text[opening.end() : close]
    while (piece := _NEXT_PIECE.match(text, end + 1)) is not None and piece["quote"] == quote:
        end = text.find(quote, piece.end(), piece.end() + _MAX_QUOTED)
        if end < 0:
            break
        value += text[piece.end() : end]
        close = end
    return _judged_quoted(key, value, (opening.end(), close))


def _judged_quoted(key: Key, value: str, place: Place) -> Place | None:
    if not _can_be(key, value):
        return None
    if key.listed and not (looks_opaque(value) or (len(value) > _MIN_LISTED and any(c.isdigit() for c in value))):
        return None
    prose = is_sentence(value) or (key.said and " " in value and is_word(value))
    return place if key.strength != "any" or not (prose or _only_locates(value)) else None


def _unquoted(text: str, at: int, key: Key) -> Place | None:
    scheme = _SCHEME.match(text, at) if key.strength == "any" else None
    begin = scheme.end() if scheme is not None else at
    if _is_masked(text, begin):
        return None
    found = _UNQUOTED.match(text, begin, begin + _MAX_JUDGED)
    if found is None:
        return None
    if is_placeholder(found[0]):
        return None
    value = _trimmed(found[0], key)
    end = begin + len(value)
    if not _accepted(key, value, ends_line=_ends_line(text, end)):
        return None
    if len(value) == _MAX_JUDGED:
        rest = _UNQUOTED.match(text, end)
        end = rest.end() if rest is not None else end
    return begin, end


def _is_masked(text: str, at: int) -> bool:
    """Whether a marker stands here, and nothing of a value right behind it."""
    marker = VEILED.match(text, at)
    if marker is None:
        return False
    rest = _UNQUOTED.match(text, marker.end())
    return rest is None or not rest[0][0].isalnum()


def _trimmed(value: str, key: Key) -> str:
    """The value without what belongs to the text around it."""
    value = _ESCAPED_END.split(value, maxsplit=1)[0]
    if key.sign.startswith("%"):
        value = _ENCODED_END.split(value, maxsplit=1)[0]
    return _without_end(value, _TRAILING_TIGHT if key.tight else _TRAILING)


def _without_end(value: str, signs: str) -> str:
    """The value without the signs at its end; a bracket that it opens itself stays."""
    while value and value[-1] in signs and not (value[-1] == "]" and "[" in value):
        value = value[:-1]
    return value


def _header(text: str, at: int) -> Place | None:
    """The credentials of an Authorization header, whatever the scheme: up to the end of the line or a quote."""
    scheme = _AUTH_SCHEME.match(text, at)
    begin = scheme.end() if scheme is not None else at
    found = _AUTH_VALUE.match(text, begin)
    if found is None or is_placeholder(found[0]) or is_word(found[0].strip()):
        return None
    value = found[0]
    if " " in value and "=" not in value:
        value = value.split(" ", 1)[0].rstrip(",;")
    value = value.rstrip()
    return (begin, begin + len(value)) if len(value) >= _MIN_SAID and not is_marked(value) else None


def _can_be(key: Key, value: str) -> bool:
    """Whether the value can be one at all: nothing that stands for one, and random where the key alone says little."""
    if not value or is_placeholder(value) or is_marked(value):
        return False
    if "cookie" in key.name and _MASKED_COOKIE.match(value):
        return False
    return fits(key.strength, value)


def _accepted(key: Key, value: str, *, ends_line: bool) -> bool:
    """Whether a value without quotes is one: such a text can as well be code, a path or the next word of a sentence."""
    if not _can_be(key, value):
        return False
    if key.strength != "any":
        return True
    if _only_locates(value) or not any(c.isascii() and c.isalnum() for c in value):
        return False
    if is_code(value) and not (key.tight and looks_opaque(value)):
        return False
    if not key.sign and value.startswith("-"):  # the next option
        return False
    if key.said:
        return len(value) >= _MIN_SAID and any(c.isdigit() for c in value) and value[0] not in "(["
    if is_word(value) and not key.tight:
        return ends_line and key.sign not in (":", "\uff1a")
    return len(value) >= _MIN_ASSIGNED


def _only_locates(value: str) -> bool:
    return is_location(value) and not value.lower().startswith(_DATABASES)


def _ends_line(text: str, end: int) -> bool:
    rest = text[end : end + 2].lstrip(" \t")
    return not rest or rest[0] in "\r\n\\"
