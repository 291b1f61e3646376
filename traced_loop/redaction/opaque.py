"""Whether a value looks like a credential: random enough, and no placeholder, type, call or word of prose."""

import math
from collections import Counter
from functools import lru_cache
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.key_names import Strength
from traced_loop.redaction.markers import is_marked

_MAX_READ: Final = 256
"""Longer values are no placeholders, no words and no code worth showing."""
_FILLED_OUT: Final = r"[*•x.?_\x23\-]{2,} | \.{3}.* | …+ | [\w-]{1,16}(?:\.{3}|…|\*{3})\S{0,12} | !\w+"
_TEMPLATE: Final = r"""
    <[^<>]*>? | \$\{.* | \$\(.* | \$[A-Z_][A-Z0-9_]* | \{\{.* | \{[^{}]*\} | %\(?\w*\)?[sdr] | %[A-Z_]+%
    | \[[A-Z _-]+\] | @\w+[.(].*
"""
_INVITATION: Final = r"""
    (?: your|my|the|some|insert|enter|paste|put|add|set|change|replace|example|sample|dummy|placeholder )
    [\s_-]? (?: own|secret|api|access|auth|real|actual|me|this|here|in )* [\s_-]*
    (?: key|token|secret|password|passwd|pass|value|here|me|this|it )* [\s_-]* (?: here|in )?
    | change_?me | replace_?me
"""
_WORD_FOR_ONE: Final = r"""
    todo | tbd | none | null | nil | undefined | n/?a | empty | true | false | yes | no | on | off
    | redacted | hidden | masked | removed | secret | password | passwd | token | key | api_?key | bearer | basic
    | pass | pwd | include | omit | same-origin | value | required | optional | missing | invalid | expired
    | unknown | unset | default | auto | any | auth
    | incorrect | wrong | password_hash | env | environment | vault | keyring | stdin | prompt | file | self | cls
    | this
"""
_TYPE: Final = r"""
    string | str | bytes | int | integer | float | number | bool | boolean | object | array | text | char | dict
    | list | varchar(?:\(\d+\))? | (?: Optional|Union|List|Dict|Literal|SecretStr|Annotated )\b.*
"""
_PLACEHOLDER: Final = late_pattern(
    rf"(?ix) {_FILLED_OUT} | {_TEMPLATE} | {_INVITATION} | {_WORD_FOR_ONE} | {_TYPE}",
)
"""What stands where a credential would: nothing is hidden by hiding it, and the reader loses the example."""
_CODE: Final = late_pattern(
    r"""(?x)
    [A-Za-z_][\w.]*\s?[(\[].* | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+ | [A-Za-z_]\w*->\w+
    | (?: self|this|os|sys|process|config|settings|env|request|req|args|options|ctx|conf )\.[\w.]+
    | lambda\b.* | await\b.* | new\b.* | function\b.* | \|\|.* | =.*
    """
)
_LOCATION: Final = late_pattern(r"(?i)(?:[a-z][a-z0-9+.-]{1,15}://|~?/|\.{1,2}/|[A-Z]:\\|arn:|projects/|urn:)")
_SENTENCE: Final = late_pattern(
    r"(?i)\b(?:must|should|is|are|was|not|the|your|please|cannot|required|of|for|to|will|has|have|be|enter"
    r"|muss|mindestens|debe)\b"
)
_WORD: Final = late_pattern(r"[^\W\d_]+(?:[ _-][^\W\d_]+)*")
_CAPITALS: Final = late_pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_ABOUT: Final = late_pattern(r"(?i)\b(?:passwor[dt]|passphrase|token|secret|api key)\b")
_FILE_LIKE: Final = late_pattern(r"(?i).*(?:\.[a-z][a-z0-9]{0,4}|/[a-z_-]+/.*)|[A-Z]{2,10}-\d+")
_DIGIT: Final = late_pattern(r"\d")
_LETTER: Final = late_pattern(r"[^\W\d_]")
_MOMENT: Final = late_pattern(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]*)?|[\d:/.,+-]+")
_MIN_RANDOM: Final = 16
_MIN_OPAQUE: Final = 8
_MIN_CASED: Final = 16


def is_placeholder(value: str) -> bool:
    """Whether the value only stands for one: ``<token>``, ``${TOKEN}``, ``your-api-key``, ``****``, ``None``."""
    if len(value) > _MAX_READ:
        return False
    stripped = value.strip()
    return not stripped or bool(_PLACEHOLDER.fullmatch(stripped)) or is_marked(stripped)


def is_code(value: str) -> bool:
    """Whether the value is an expression: a call, a lookup, an attribute path."""
    if len(value) > _MAX_READ or not _CODE.fullmatch(value):
        return False
    return not any(looks_random(part) for part in value.split("."))


def is_location(value: str) -> bool:
    """Whether the value is an address, a path or the name of a variable: where a secret lies, not what it is."""
    return bool(_LOCATION.match(value)) or bool(_CAPITALS.fullmatch(value))


def is_sentence(value: str) -> bool:
    """Whether the value is prose about a secret: with a small word of sentences, or a word for what it is about."""
    shown = value[:_MAX_READ]
    return (shown.count(" ") >= 2 and bool(_SENTENCE.search(shown))) or (" " in shown and bool(_ABOUT.search(shown)))


def is_word(value: str) -> bool:
    """Whether the value is letters only, with single spaces, ``_`` or ``-`` between them."""
    return len(value) <= _MAX_READ and bool(_WORD.fullmatch(value))


@lru_cache(maxsize=1024)
def entropy(value: str) -> float:
    """Bits per character, by the value's own frequencies."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


def looks_random(value: str, least: int = _MIN_RANDOM) -> bool:
    """Whether nobody wrote this by hand: long enough, letters and digits mixed, few repetitions."""
    value = value[:_MAX_READ]
    if len(value) < least or _DIGIT.search(value) is None or _LETTER.search(value) is None:
        return False
    return entropy(value) >= (2.6 if len(value) < 24 else 3.0)


def looks_opaque(value: str) -> bool:
    """Whether the value can be a token: eight characters and more without spaces, more than a word or a number."""
    if len(value) < _MIN_OPAQUE or " " in value or not value[:_MAX_READ].isprintable():
        return False
    if is_placeholder(value) or is_location(value) or is_code(value) or _MOMENT.fullmatch(value):
        return False
    value = value[:_MAX_READ]
    has_digit, has_letter = _DIGIT.search(value) is not None, _LETTER.search(value) is not None
    return ((has_digit and has_letter) or _is_mixed(value)) and entropy(value) >= 2.3


def _is_mixed(value: str) -> bool:
    """Whether the cases of the letters are mixed as in no word; of letters alone it takes sixteen to tell."""
    if value == value.upper():
        return False
    if not is_word(value):
        return value != value.lower()
    return len(value) >= _MIN_CASED and value.isalpha() and value[1:] != value[1:].lower()


def looks_like_key(value: str) -> bool:
    """Whether the value is a key even behind a name of many harmless values: long, random, no path, no ticket."""
    if len(value) < _MIN_RANDOM or not looks_opaque(value) or _FILE_LIKE.fullmatch(value):
        return False
    return looks_random(value)


def fits(strength: Strength, value: str) -> bool:
    """Whether the value looks as secret as a key of this strength asks for; behind ``any`` everything does."""
    if strength == "opaque":
        return looks_opaque(value)
    return strength != "random" or looks_like_key(value)
