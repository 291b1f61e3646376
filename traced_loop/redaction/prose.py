"""Secrets that people tell each other in sentences: no key stands right before them."""

from collections.abc import Callable
from functools import cache
from typing import Final

from traced_loop.redaction.opaque import is_placeholder, is_sentence, looks_opaque, looks_random
from traced_loop.redaction.rule import Shape

_KEY: Final = r"(?i:\b(?:api[ _-]?key|secret key|access (?:key|token)|password|passphrase|secret|token)s?\b)"


def _written(value: str) -> bool:
    return (
        len(value) >= 6
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and not is_placeholder(value)
    )


def _mixed(value: str) -> bool:
    return looks_opaque(value) and value != value.lower() and value != value.upper() and any(c.isdigit() for c in value)


_FROM: Final = r"(?i)\bpass(?:word|phrase)s? (?:[\w-]{1,16} ){0,3}?from "
_OLD_OR_NEW: Final = r"(?P<value>[^\s,;]{6,64})"
_WORDS: Final = r"(?P<value>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b"
"""Twelve to twenty-four words: the backup of a wallet."""

_SENTENCES: Final[tuple[tuple[tuple[str, ...], str, Callable[[str], bool] | None], ...]] = (
    # words of which one is in the text, the sentence, what the value must be
    (("password", "passphrase"), rf"{_FROM}{_OLD_OR_NEW}", _written),
    (("password", "passphrase"), rf"{_FROM}[^\s,;]{{6,64}} to {_OLD_OR_NEW}", _written),
    (
        ("cred", "login"),
        r"(?i)\b(?:creds?|credentials?|login)\b[ :]{1,3}(?:are |is |with |as )?[\w.@-]{2,40} ?[/:] ?"
        r"(?P<value>[^\s/,;]{6,64})",
        _written,
    ),
    (
        ("passphrase",),
        r"\b[Pp]assphrase:?\s(?P<value>(?:[a-z]{3,10}[ -]){3,11}?[a-z]{3,10})"
        r"(?=\s(?:for|to|on|when|and)\b|[.,;\"'\n]|\Z)",
        lambda value: not is_sentence(value),
    ),
    (
        ("phrase", "mnemonic", "seed"),
        rf"(?i)\b(?:seed|recovery|backup)(?:[ _-]?phrase| words)?[\"']?\W{{1,6}}{_WORDS}",
        None,
    ),
    (("助记词",), rf"助记词[\uff1a: ]{{0,3}}{_WORDS}", None),
    (("pin",), r"(?i)\bpin(?: code)? (?:[\w-]{1,16} ){0,3}?(?:to|is|as) (?P<value>\d{4,8})\b", None),
    (
        ("code", "código", "codice", "otp", "passcode"),
        r"(?i)\b(?:your|verification|security|login|one-time|2fa|otp|confirmation|bestätigungs|codice|código)"
        r"[\w ]{0,20}?"
        r"(?:code|otp|verificación)? ?(?:is|es|è|lautet|ist|:) ?(?P<value>\d{5,8})\b",
        None,
    ),
    (
        ("key", "token", "password"),
        r"(?i)\b(?:api[ _-]?key|secret key|access token|api[ _-]token|password)[\"']?\s[\"']?"
        r"(?P<value>[A-Za-z0-9_-]{20,128})(?=[\s.,;!?)\"']|\Z)",
        looks_random,
    ),
    (
        ("codes",),
        r"(?i)\b(?:recovery|backup) codes?:?[ \t]*\r?\n"
        r"(?P<value>(?:[ \t*-]*[a-z0-9]{4,8}-[a-z0-9]{4,8}[ \t]*(?:\r?\n|\Z)){1,20})",
        None,
    ),
    (("mnemonic",), rf"(?i)\bmnemonic\w{{0,8}}[\"']?\W{{1,6}}{_WORDS}", None),
    (
        ("key", "token", "secret", "pass"),
        rf"{_KEY}[^\n\"'`=:]{{1,40}}?\s(?P<value>[A-Za-z0-9_+/-]{{20,200}}={{0,2}})(?=[\s.,;!?)]|\Z)",
        _mixed,
    ),
)


@cache
def prose_rules() -> tuple[Shape, ...]:
    """The sentences, the same for all."""
    return tuple(Shape(name="told_secret", needles=n, pattern=p, check=check) for n, p, check in _SENTENCES)
