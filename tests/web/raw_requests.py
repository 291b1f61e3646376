"""Requests byte by byte, as no browser sends them."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..command_line import WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping

QUIET = 0.5
"""Seconds after which a server that keeps a connection has said what it had to say."""


@dataclass(frozen=True)
class RawAnswer:
    """One answer."""

    status: int
    head: str
    body: bytes

    def header(self, name: str) -> str | None:
        """A header by its name in lower case."""
        found = re.search(rf"^{name}: (.*)\r$", self.head, re.MULTILINE | re.IGNORECASE)
        return found and found[1]


def connected(address: str) -> socket.socket:
    """A connection to a server."""
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=WITHIN)


def exchange(address: str, sent: bytes) -> bytes:
    """All that comes back until the server ends the connection, or has nothing more to say."""
    with closing(connected(address)) as connection:
        got = b""
        try:
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                got += piece
                connection.settimeout(QUIET)
        except (ConnectionError, TimeoutError):
            pass
        return got


def answers(got: bytes) -> list[RawAnswer]:
    """Bytes of a connection as answers; each says its length."""
    found: list[RawAnswer] = []
    while got:
        head, _, rest = got.partition(b"\r\n\r\n")
        text = head.decode("latin-1") + "\r\n"
        length = re.search(r"^content-length: (\d+)", text, re.MULTILINE | re.IGNORECASE)
        end = int(length[1]) if length else len(rest)
        found.append(RawAnswer(int(text.split()[1]), text, rest[:end]))
        got = rest[end:]
    return found


def request(
    address: str, method: str = "GET", target: str = "/", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> RawAnswer:
    """One request under the server's own name, unless the headers have another ``host``, and its answer."""
    given = {"host": urlsplit(address).netloc, "connection": "close", **(headers or {})}
    if body:
        given.setdefault("content-length", str(len(body)))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    sent = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
    [answer] = answers(exchange(address, sent))
    return answer


def entered(link: str) -> str:
    """The cookie that opening a link gives."""
    address, _, query = link.partition("/?")
    cookie = request(address, target=f"/?{query}").header("set-cookie")
    assert cookie is not None
    return cookie.partition(";")[0]
