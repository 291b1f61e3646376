"""HTTP/1.1 on a free loopback port, in a process of its own, at as little processor time as the measured side leaves.

The port is the first line on standard output. The server ends when its standard input does, so it never outlives
whoever started it.
"""

from __future__ import annotations

import asyncio
import sys
from abc import abstractmethod


class Connection(asyncio.Protocol):
    """One client, whose requests come whole (a `Content-Length`, as all clients here send) and one after the other."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (request := self._next_request()) is not None:
            self.answer(*request)

    def _next_request(self) -> tuple[bytes, bytes, bytes] | None:
        end = self._waiting.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._waiting[:end])
        length = _length(head)
        if len(self._waiting) < end + 4 + length:
            return None
        body = bytes(self._waiting[end + 4 : end + 4 + length])
        del self._waiting[: end + 4 + length]
        return head.split(b" ", 2)[1], head, body

    @abstractmethod
    def answer(self, path: bytes, head: bytes, body: bytes) -> None:
        """Say something by `reply`, now or later, or never."""

    def reply(self, body: bytes, status: bytes = b"200 OK", content_type: bytes = b"application/json") -> None:
        """Send an answer, unless the client has gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (status, content_type, len(body), body)
            )


def _length(head: bytes) -> int:
    low = head.lower()
    at = low.find(b"\r\ncontent-length:")
    if at < 0:
        return 0
    end = low.find(b"\r\n", at + 2)
    return int(low[at + 17 : None if end < 0 else end])


def serve(connection: type[Connection]) -> None:
    """Serve until standard input ends."""
    asyncio.run(_serving(connection))


async def _serving(connection: type[Connection]) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
