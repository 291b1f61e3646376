"""Connections of the official client's HTTP library, on asyncio itself.

The library reaches asyncio over anyio, which passes through the event loop several times more for each request, to be
fair to other tasks. Its connection pool takes another network backend, by contract (``httpcore2.AsyncNetworkBackend``);
this is one, and nothing of HTTP is in it.
"""

import asyncio
import select
import ssl
import sys
import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, cast

import httpcore2
import httpx2

from traced_loop.models.raced_addresses import first_to_answer

MAX_UNREAD: Final = 256 * 1024
"""Bytes that came and nobody has read yet: with more of them, the connection is not read."""

MAX_UNSENT: Final = 64 * 1024
"""Bytes that wait for the rest of their request: a head goes out with its body, in one packet where both fit."""

INFO: Final = {"ssl_object": "ssl_object", "socket": "socket", "client_addr": "sockname", "server_addr": "peername"}
"""What a stream can be asked for, and asyncio's name of it."""


class AsyncioStream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One connection: read and written by one task at a time."""

    def __init__(self) -> None:
        """Not connected yet; ``connection_made`` brings its transport."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._unread = b""
        self._unsent = bytearray()
        self._paused = False
        self._ended = False
        self._lost: Exception | None = None
        self._something: asyncio.Future[bool] | None = None
        self._room: asyncio.Future[bool] | None = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol``."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``."""
        self._unread = self._unread + data if self._unread else bytes(data)
        if len(self._unread) > MAX_UNREAD and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        _settle(self._something)
        _settle(self._room)  # a server that has begun to answer may take no more of the request

    def eof_received(self) -> None:
        """See ``asyncio.Protocol``; None closes the transport.

        A server that has said all it will say may take no more of the request, and what it said is to be read.
        """
        self._ended = True
        _settle(self._something)
        _settle(self._room)

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        self._ended, self._lost = True, exc
        _settle(self._something)
        _settle(self._room)

    def pause_writing(self) -> None:
        """See ``asyncio.Protocol``."""
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        """See ``asyncio.Protocol``."""
        _settle(self._room)
        self._room = None

    def let_go(self) -> None:
        """Drop the transport of an event loop that is closed, and with it the socket: nothing else closes it there."""
        self._ended = True
        with suppress(AttributeError):  # it is gone already
            del self._transport

    # What the connection pool calls.

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes, at most so many; none at the end.

        Raises:
            httpcore2.ReadTimeout: nothing came for so many seconds.
            httpcore2.ReadError: the connection broke.
        """
        await self._send(timeout)
        if not self._unread and not self._ended:
            self._something = self._loop.create_future()
            if not await self._settled(self._something, timeout):
                raise httpcore2.ReadTimeout
        if not self._unread and self._lost is not None:
            raise httpcore2.ReadError(_said(self._lost)) from self._lost
        data, self._unread = self._unread[:max_bytes], self._unread[max_bytes:]
        if self._paused and len(self._unread) <= MAX_UNREAD and not self._ended:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes: now where they are many, else before the next read, which ends every request.

        So a body whose next piece waits for what the server does with the piece before it may not be sent; that of a
        request to a model never does.

        Raises:
            httpcore2.WriteTimeout: the other side took nothing for so many seconds.
            httpcore2.WriteError: the connection has ended.
        """
        if self._ended:
            raise httpcore2.WriteError(_said(self._lost)) from self._lost
        self._unsent += buffer
        if len(self._unsent) > MAX_UNSENT:
            await self._send(timeout)

    async def aclose(self) -> None:
        """Close without waiting: what was not sent is not."""
        self._transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Speak TLS from here on.

        Raises:
            httpcore2.ConnectTimeout: it was not agreed on within so many seconds.
            httpcore2.ConnectError: the server's certificate, or what it speaks, is not good.
        """
        await self._send(timeout)
        plain = self._transport
        try:
            async with asyncio.timeout(timeout):
                self._transport = await self._agreed(ssl_context, server_hostname, timeout or None)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(_said(error)) from error
        finally:
            if self._transport is plain:
                plain.abort()
        return self

    def get_extra_info(self, info: str) -> Any:
        """What the pool asks of a connection; ``is_readable`` of an idle one says that it is of no more use.

        The server has closed it, or has not taken all of the request that it answered. The event loop may not have
        come to look since, so the socket is asked, too.
        """
        if info == "is_readable":
            if self._ended or self._unread or self._transport.get_write_buffer_size():
                return True
            return _is_readable(self._transport.get_extra_info("socket"))
        name = INFO.get(info)
        return None if name is None else self._transport.get_extra_info(name)

    async def _agreed(self, context: ssl.SSLContext, host: str | None, seconds: float | None) -> asyncio.Transport:
        """The transport that speaks TLS on the one at hand."""
        # What came before TLS would be read as if it had come by it, and a connection that has ended answers never.
        if self._unread:
            raise ConnectionError("the server spoke before TLS was agreed on")
        secure = None
        if not self._ended:
            secure = await self._loop.start_tls(
                self._transport, self, context, server_hostname=host, ssl_handshake_timeout=seconds
            )
        if secure is None:
            raise ConnectionError(_said(self._lost))
        return secure

    async def _send(self, timeout: float | None) -> None:
        whole, self._unsent = self._unsent, bytearray()
        if whole and not self._ended:
            self._transport.write(whole)
        goes_on = not self._ended and not self._unread
        if self._room is not None and goes_on and not await self._settled(self._room, timeout):
            raise httpcore2.WriteTimeout

    async def _settled(self, future: "asyncio.Future[bool]", timeout: float | None) -> bool:
        """Whether it came to pass within so many seconds."""
        late = None if timeout is None else self._loop.call_later(timeout, _give_up, future)
        try:
            return await future
        finally:
            if late is not None:
                late.cancel()


class AsyncioBackend(httpcore2.AsyncNetworkBackend):
    """Makes connections to hosts."""

    def __init__(self) -> None:
        """None yet."""
        self.streams: weakref.WeakSet[AsyncioStream] = weakref.WeakSet()
        """Those that somebody still holds."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers.

        Raises:
            httpcore2.ConnectTimeout: none did within so many seconds.
            httpcore2.ConnectError: none can be reached, or the host is not known.
        """
        try:
            async with asyncio.timeout(timeout):
                stream = await first_to_answer(AsyncioStream, host, port, local_address)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:  # the latter for a name that no host can have
            raise httpcore2.ConnectError(_said(error)) from error
        for option in socket_options or ():
            stream.get_extra_info("socket").setsockopt(*option)
        self.streams.add(stream)
        return stream

    async def sleep(self, seconds: float) -> None:
        """Between two tries of the pool's own, of which ours makes none."""
        await asyncio.sleep(seconds)


class AsyncioTransport(httpx2.AsyncHTTPTransport):
    """The HTTP library's own transport, but for what its connections are made of."""

    def __init__(self, limits: httpx2.Limits, *, secure: bool) -> None:
        """Make one without a connection.

        Args:
            limits: of its connections.
            secure: the server is reached by TLS: trusted certificates are loaded now, and once. Where it is not, they
                are loaded by the first request that goes to one that is.

        Raises:
            OSError: the certificates that the environment names cannot be read.
        """
        context = httpx2.create_ssl_context() if secure else None
        super().__init__(verify=context or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))  # of a pool that ours replaces
        self._backend = AsyncioBackend()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=self._backend,
        )

    def let_go(self) -> None:
        """Drop every connection of an event loop that is closed, where none of them can be closed."""
        for stream in list(self._backend.streams):
            stream.let_go()


def _settle(future: "asyncio.Future[bool] | None") -> None:
    if future is not None and not future.done():
        future.set_result(True)


def _give_up(future: "asyncio.Future[bool]") -> None:
    if not future.done():
        future.set_result(False)


def _said(error: Exception | None) -> str:
    """Why a connection is not there, in words: asyncio has no better ones for the commonest cases."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return (str(error) if error else "") or "the server closed the connection"


def _is_readable(connection: Any) -> bool:
    number = -1 if connection is None else connection.fileno()
    if number < 0:
        return True
    if sys.platform == "win32":
        return bool(select.select([number], [], [], 0)[0])
    looked_at = select.poll()
    looked_at.register(number, select.POLLIN)
    return bool(looked_at.poll(0))
