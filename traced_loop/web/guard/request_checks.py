"""Requests that no page of this server makes, by their head alone: another host's name, another site's page."""

from collections.abc import Mapping
from typing import Final

from traced_loop.web.guard.refusals import Refusal, RefusalKind
from traced_loop.web.guard.request_head import RequestHead

READING: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""
MAX_ADDRESS: Final = 8_192
"""Bytes of a path with its query."""
_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names of this machine. The port is anybody's: a tunnel has another one."""
_ONCE: Final = frozenset({"host", "origin", "content-length", "content-type", "sec-fetch-site", "sec-fetch-mode"})
"""Headers that decide something: two of one are two answers."""


def refused_head(head: RequestHead) -> Refusal | None:
    """Why a request is refused before anything of it is read, or None."""
    if doubled := _ONCE & head.doubled:
        return Refusal(kind=RefusalKind.MALFORMED, detail=f"two of {min(doubled)}")
    if {"content-length", "transfer-encoding"} <= head.headers.keys():
        return Refusal(kind=RefusalKind.MALFORMED, detail="two lengths")
    host = head.headers.get("host", "")
    if _name(host) not in _NAMES:
        return Refusal(kind=RefusalKind.WRONG_HOST, detail=host)
    if not head.address.startswith(b"/"):
        # An address with a host in it counts before the header, for those who obey the protocol.
        return Refusal(kind=RefusalKind.MALFORMED, detail=head.address.decode("latin-1"))
    if len(head.address) > MAX_ADDRESS:
        return Refusal(kind=RefusalKind.TOO_LARGE, detail="address")
    if head.method not in READING and head.method != "POST":
        return Refusal(kind=RefusalKind.BAD_METHOD, detail=head.method)
    return _other_site(head.method, host, head.headers)


def _other_site(method: str, host: str, headers: Mapping[str, str]) -> Refusal | None:
    """A page of another site, as far as the browser tells: a link that somebody follows to a page is none."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if (origin is not None or method == "POST") and origin != f"http://{host.lower()}":
        return Refusal(kind=RefusalKind.OTHER_SITE, detail=origin or "no origin")
    if site is not None and site not in {"same-origin", "none"}:
        follows_link = method in READING and headers.get("sec-fetch-mode") == "navigate"
        if not follows_link or headers.get("sec-fetch-dest") not in {None, "document"}:
            return Refusal(kind=RefusalKind.OTHER_SITE, detail=site)
    return None


def _name(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isascii() and port.isdigit() else host.lower()
