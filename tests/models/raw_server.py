"""A server on a free loopback port that sends given bytes, HTTP or not, and counts connections and requests."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .connection_threads import accepting

if TYPE_CHECKING:
    from collections.abc import Iterator

After = Literal["close", "reset", "keep"]


@dataclass(frozen=True)
class Bytes:
    """What is sent for one request.

    Attributes:
        data: status line, headers and body, or whatever stands in their place.
        after: close the connection in order, reset it, or wait on it for the next request.
        packet: bytes that are written at once, 0 for all.
        pause: seconds between two packets.
    """

    data: bytes
    after: After = "close"
    packet: int = 0
    pause: float = 0.0


def http(body: bytes, *headers: str, status: str = "200 OK", length: int | None = -1, kind: str = "json") -> bytes:
    """A response; its length is that of the body unless another is given, and None leaves it out."""
    given = len(body) if length == -1 else length
    lines = [f"HTTP/1.1 {status}", f"content-type: {_KINDS.get(kind, kind)}", *headers]
    lines += [] if given is None else [f"content-length: {given}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """A body in chunks."""
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + end


_KINDS = {"json": "application/json", "events": "text/event-stream"}


@dataclass
class RawServer:
    """A running server, and what it saw."""

    port: int
    script: list[Bytes]
    otherwise: Bytes
    sockets: list[socket.socket] = field(default_factory=list)
    requests: int = 0

    @property
    def connections(self) -> int:
        """How many have come by now."""
        return len(self.sockets)

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def serve(self, connection: socket.socket) -> None:
        """Answer the requests of one connection."""
        with connection, suppress(OSError):
            while _read_request(connection):
                self.requests += 1
                sent = self.script.pop(0) if self.script else self.otherwise
                size = sent.packet or len(sent.data) or 1
                for start in range(0, len(sent.data), size):
                    connection.sendall(sent.data[start : start + size])
                    time.sleep(sent.pause)
                if sent.after == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if sent.after != "keep":
                    return


def _read_request(connection: socket.socket) -> bool:
    """Take one request off the connection; False where there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            return False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while len(body) < int(lengths[0]):
        body += connection.recv(65536)
    return True


@contextmanager
def raw_server(*script: Bytes, otherwise: Bytes) -> Iterator[RawServer]:
    """Send these bytes, one after the other, and then always the same, for the time of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = RawServer(listening.getsockname()[1], [*script], otherwise)
    with accepting(listening, server.serve, server.sockets):
        yield server
