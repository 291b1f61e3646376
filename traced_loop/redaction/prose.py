"""Secrets that people tell each other in sentences: no key stands right before them."""

from typing import Final

from traced_loop.redaction.opaque import is_placeholder, is_sentence, looks_opaque
from traced_loop.redaction.rule import RedactionRule

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


_SENTENCES: Final = (
    (("password", "passphrase"), r"(?i)\bpass(?:word|phrase)s? (?:[\w-]{1,16} ){0,3}?from (?P<value>[^\s,;]{6,64})", _written),
    (("password", "passphrase"), r"(?i)\bpass(?:word|phrase)s? (?:[\w-]{1,16} ){0,3}?from [^\s,;]{6,64} to (?P<value>[^\s,;]{6,64})", _written),
    (("cred", "login"), r"(?i)\b(?:creds?|credentials?|login)\b[ :]{1,3}(?:are |is |with |as )?[\w.@-]{2,40} ?[/:] ?(?P<value>[^\s/,;]{6,64})", _written),
    (("passphrase",), r"\b[Pp]assphrase:?\s(?P<value>(?:[a-z]{3,10}[ -]){3,11}?[a-z]{3,10})(?=\s(?:for|to|on|when|and)\b|[.,;\"'\n]|\Z)", lambda v: not is_sentence(v)),
    (
        ("phrase", "mnemonic", "seed"),
        r"(?i)\b(?:seed|recovery|backup)(?:[ _-]?phrase| words)?[\"']?\W{1,6}(?P<value>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b",
        None,
    ),
    (("mnemonic",), r"(?i)\bmnemonic\w{0,8}[\"']?\W{1,6}(?P<value>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b", None),
    (("key", "token", "secret", "pass"), rf"{_KEY}[^\n\"'`=:]{{1,40}}?\s(?P<value>[A-Za-z0-9_+/-]{{20,200}}={{0,2}})(?=[\s.,;!?)]|\Z)", _mixed),
)  # fmt: skip


def prose_rules() -> tuple[RedactionRule, ...]:
    """The sentences, compiled."""
    return tuple(RedactionRule(name="told_secret", needles=n, pattern=p, check=check) for n, p, check in _SENTENCES)
