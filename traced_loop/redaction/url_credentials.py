"""Passwords and tokens in the authority of a URL: ``scheme://user:password@host``."""

from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.opaque import is_placeholder, looks_random
from traced_loop.redaction.rule import Place

_USERINFO: Final = late_pattern(r"(?P<user>[^\s/@:\"'<>?#]{0,200}+):(?P<value>[^\s@\"'<>\\]{1,400}+)@(?=[\w\[$.-])")
_MAX_USERINFO: Final = 600
"""Characters between :// and @; further away, the @ belongs to something else."""
_USERINFO_AT: Final = late_pattern(r"[^\s/@\"'<>\\]{0,100}+@(?=[\w.-]{1,200}(?:[:/,?]|\Z|[\s\"']))")
_USERINFO_SLASH: Final = late_pattern(r"[^\s\"'<>]{0,100}@(?=[\w.-]{1,200}(?::\d{1,5})?(?:[/?]|\Z|[\s\"']))")
_HOLDER: Final = late_pattern(r"(?P<value>[A-Za-z0-9_\-]{20,512}+)(?P<colon>:(?:x-oauth-basic)?)?@(?=[\w.-])")
_MIN_HOLDER: Final = 20


def url_credentials(text: str, lowered: str) -> Iterator[Place]:
    """Where the password lies in a URL's authority, or a token that stands alone in front of the host."""
    at, sign = lowered.find("://"), -1
    while at >= 0:
        begin = at + 3
        if sign < begin:
            sign = text.find("@", begin)
        if sign < 0:
            return
        if sign - begin > _MAX_USERINFO:
            at = lowered.find("://", max(begin, sign - _MAX_USERINFO))
            continue
        yield from _in_front_of_host(text, begin, web=lowered[max(0, at - 5) : at].endswith(("http", "https")))
        at = lowered.find("://", begin)


def _in_front_of_host(text: str, begin: int, *, web: bool) -> Iterator[Place]:
    match = _USERINFO.match(text, begin)
    if match is None or not _in_authority(match["value"]):
        holder = _HOLDER.match(text, begin)
        if holder is not None and looks_random(holder["value"], least=_MIN_HOLDER):
            yield holder.span("value")
        return
    start, end = match.span("value")
    more = (_USERINFO_AT if web else _USERINFO_SLASH).match(text, end + 1)  # a raw @ in the password
    end = more.end() - 1 if more is not None else end
    if not is_placeholder(text[start:end]) and text[start:end] != "x-oauth-basic":
        yield start, end
    if len(match["user"]) >= _MIN_HOLDER and looks_random(match["user"]):
        yield match.span("user")


def _in_authority(password: str) -> bool:
    """Whether this stands in front of a host: a slash in it is a password's when no path and no port begin there."""
    head, slash, _ = password.partition("/")
    return not slash or (head != "" and not head.isdigit() and "." not in head and "?" not in password)
