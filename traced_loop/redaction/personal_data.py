"""Personal data by its shape: mail addresses, bank accounts, network addresses.

A shape alone is weak for numbers, so each has its check digits, its separators, or a label in front of it. Boundaries
are ASCII, because a word boundary does not exist between a digit and a Chinese character.
"""

import re
from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction import check_digits
from traced_loop.redaction.rule import Finder, Place
from traced_loop.redaction.word_lists import words

# A local part and a domain, found from the @ outwards: a search from the left would try each start again.
_LOCAL_SIGNS: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+/=?^_`{|}~.-"
    + "".join(map(chr, range(0xC0, 0x250)))
)
"""RFC 5322 atoms, and Latin letters with marks."""
_DOMAIN: Final = late_pattern(
    r"(?:[A-Za-z0-9À-ɏ](?:[A-Za-z0-9À-ɏ-]{0,62}+)\.){1,8}"
    r"(?:xn--[a-z0-9-]{2,20}|[A-Za-zÀ-ɏ]{2,24}+)(?![A-Za-z0-9(]|[.-][0-9])"
)
_CJK_DOMAIN: Final = late_pattern(r"[\u4e00-\u9fff\u3040-\u30ff]{1,20}\.[\u4e00-\u9fff]{2,4}")
_NO_TLD: Final = words(
    """
    png jpg jpeg gif webp svg ico bmp js mjs ts tsx jsx css json html htm py pyi rs go java rb php sh txt md yaml yml
    toml xml csv lock log sql so dll exe service target socket timer mount transpose local internal lan
    """
)
"""Ends of file names, of units and of names in code: ``icon@2x.png``, ``getty@tty1.service``, ``a@b.transpose``."""
_NO_MAILBOX: Final = frozenset({"git", "hg", "svn", "aur"})
_AUTHORITY: Final = late_pattern(r"://[^\s/@]{0,64}:\Z")
_NO_PERSON: Final = ("openssh.com", "libssh.org", ".gserviceaccount.com")
"""What is written like an address there is an algorithm or a machine."""
_SCHEME: Final = late_pattern(r"mailto:|[a-z]+://", re.IGNORECASE)
_URL_BEFORE: Final = late_pattern(r"[=/?&{}|`]")
_SIGNS_BEFORE: Final = late_pattern(r"^(?:%[0-9A-Fa-f]{2}|[^A-Za-z0-9\"À-ɏ_])+")
_IBAN: Final = late_pattern(r"(?<![A-Za-z0-9])([A-Za-z]{2})\d{2}")
_IBAN_LIKE: Final = late_pattern(r"[a-z]{2}\d\d[ -]?[a-z0-9]{4}")
_GAPS: Final = late_pattern(r"[ -]")
_IPV4: Final = late_pattern(
    r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9][.\-/])(?<!@)(?<![=<>~^]=)(?:\d{1,3}\.){3}\d{1,3}(?![A-Za-z_]|[.-]?\d|-[A-Za-z])"
)
_IPV6: Final = late_pattern(r"(?<![A-Za-z0-9_:.])[23][0-9A-Fa-f]{3}:[0-9A-Fa-f:]{2,35}(?![A-Za-z0-9_])")
_VERSION_BEFORE: Final = late_pattern(
    r"(?i)(?:\bv|version|版本|バージョン|\bec|ver\.|build|release|pkg|package|firmware|oid"
    r"|(?:update|upgrade)[ds]?(?: [\w.-]{1,20})?(?: (?:to|from))?(?: [\w.]{1,20} to)?)[\"']?[ :=]{0,3}[\"']?\Z"
)
_ADDRESS_LIKE: Final = late_pattern(r"\d\.\d{1,3}\.\d|[0-9a-f]:[0-9a-f]{0,4}:")
_DOCUMENTATION: Final = ("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:")
"""RFC 5737 and RFC 3849: examples stand for somebody's address."""


def emails(text: str, lowered: str) -> Iterator[Place]:
    """Mail addresses, also as ``name%40host`` in URLs."""
    for sign in ("@", "%40"):
        at = lowered.find(sign)
        while at >= 0:
            place = _email(text, at, at + len(sign))
            if place is not None:
                yield place
            at = lowered.find(sign, place[1] if place is not None else at + 1)


def _local_part(text: str, at: int) -> str:
    """What stands before an @: read backwards, 64 characters at most; a quoted one is rare and left out."""
    start = at
    while start and at - start < 64 and text[start - 1] in _LOCAL_SIGNS:
        start -= 1
    return text[start:at]


def _email(text: str, at: int, after: int) -> Place | None:
    domain = _DOMAIN.match(text, after) or _CJK_DOMAIN.match(text, after)
    local = _local_part(text, at) if domain is not None else ""
    if domain is None or not local or domain[0].rsplit(".", 1)[-1].lower() in _NO_TLD:
        return None
    name = _URL_BEFORE.split(_SCHEME.sub("", local))[-1]
    name = _SIGNS_BEFORE.sub("", name)
    start = at - len(name)
    if _AUTHORITY.search(text[max(0, start - 80) : start]) is not None:  # a URL's password, and judged as one
        return None
    if not name or name.lower() in _NO_MAILBOX or domain[0].endswith(_NO_PERSON):
        return None
    return at - len(name), domain.end()


def ibans(text: str, lowered: str) -> Iterator[Place]:
    """Bank account numbers by country, length and remainder, compact or in groups."""
    del lowered
    for match in _IBAN.finditer(text):
        size = check_digits.iban_size(match[1].upper())
        if size is None:
            continue
        end, left = match.end(), size - 4
        while left and end < len(text) and (text[end] in " -" or _is_plain(text[end])):
            left -= text[end] not in " -"
            end += 1
        compact = _GAPS.sub("", text[match.start() : end]).upper()
        whole = end == len(text) or not _is_plain(text[end])
        if not left and whole and check_digits.iban(compact):
            yield match.start(), end


def _is_plain(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def network_addresses(text: str, lowered: str) -> Iterator[Place]:
    """Public IP addresses; loopback, private, link-local and other local ones say nothing about a person."""
    for match in _IPV4.finditer(text):
        tiny = all(len(part) == 1 for part in match[0].split("."))
        before = text[max(0, match.start() - 48) : match.start()]
        if not tiny and not _VERSION_BEFORE.search(before) and "oid" not in before.lower() and _of_somebody(match[0]):
            yield match.span()
    if "::" in lowered or lowered.count(":") >= 7:
        for match in _IPV6.finditer(text):
            found = match[0].rstrip(":")
            if _of_somebody(found):
                yield match.start(), match.start() + len(found)


def _of_somebody(found: str) -> bool:
    import ipaddress  # only where something looks like an address

    try:
        address = ipaddress.ip_address(found)
    except ValueError:
        return False
    return (address.is_global and not address.is_multicast) or found.lower().startswith(_DOCUMENTATION)


def personal_finders() -> tuple[Finder, ...]:
    """What finds addresses."""
    return (
        Finder(name="email", needles=("@", "%40"), find=emails),
        Finder(name="ip_address", gate=_ADDRESS_LIKE, find=network_addresses),
    )


def account_finders() -> tuple[Finder, ...]:
    """What finds bank accounts."""
    return (Finder(name="iban", gate=_IBAN_LIKE, find=ibans),)
