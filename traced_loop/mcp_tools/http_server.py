"""A server at an address, spoken to over streamable HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

from traced_loop import names
from traced_loop.mcp_tools.outgoing_trace import CALL
from traced_loop.mcp_tools.transport import MAX_MESSAGE_BYTES, Streams
from traced_loop.shown_url import shown_url
from traced_loop.telemetry.carried_context import carried_trace

CONNECT_SECONDS: Final = 30.0
"""To reach the server and to send it something. How long an answer may take is said by the tool's timeout."""
_SESSION: Final = "mcp-session-id"
_GONE: Final = 404
_FAILED: Final = 400


class HttpServer:
    """See ``Transport``."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Nothing is asked yet.

        Args:
            url: of the server's MCP endpoint.
            headers: of every request.
        """
        self._url = url
        self._headers = dict(headers)
        self._session_id: str | None = None
        self._status: int | None = None
        self._lost: Callable[[], None] = lambda: None

    @property
    def label(self) -> str:
        """See ``Transport``."""
        return f"MCP server {shown_url(self._url)}"

    def marks(self) -> Mapping[str, str | int]:
        """See ``Transport``."""
        url = httpx2.URL(self._url)
        found: dict[str, str | int] = {
            names.NETWORK_TRANSPORT: "tcp",
            names.SERVER_ADDRESS: url.host,
            names.SERVER_PORT: url.port or (443 if url.scheme == "https" else 80),
        }
        return found if self._session_id is None else {**found, names.MCP_SESSION_ID: self._session_id}

    def last_words(self) -> str:
        """See ``Transport``."""
        return "" if self._status is None else f"; its last answer was HTTP {self._status}"

    def kill(self) -> None:
        """See ``Transport``; somebody else runs it."""

    @asynccontextmanager
    async def opened(self, lost: Callable[[], None]) -> AsyncGenerator[Streams, None]:
        """See ``Transport``."""
        self._lost, self._session_id, self._status = lost, None, None
        client = httpx2.AsyncClient(
            # A compressed answer could be far longer than what is read of it.
            headers={"accept-encoding": "identity", **self._headers},
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
            event_hooks={"request": [_add_trace], "response": [self._seen]},
        )
        async with client:
            way = streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)
            async with way as (from_server, to_server):
                yield from_server, to_server

    async def _seen(self, response: httpx2.Response) -> None:
        call = CALL.get()
        if call is not None:
            call.status = response.status_code
        if response.status_code >= _FAILED:
            self._status = response.status_code
        self._session_id = response.headers.get(_SESSION) or self._session_id
        if response.status_code == _GONE and _SESSION in response.request.headers:
            self._lost()  # the server has forgotten the session, and wants another one
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        encoded = response.headers.get("content-encoding", "identity") != "identity"
        if encoded or not events:
            most = 0 if encoded else MAX_MESSAGE_BYTES
            response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream), most)


class _Bounded(httpx2.AsyncByteStream):
    """A body of which no more is read than one message may have; a stream of events is bounded event by event."""

    def __init__(self, inner: httpx2.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._inner:
            read += len(part)
            if read > self._most:
                raise httpx2.StreamError(f"the answer has more than {self._most} bytes, or is compressed")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _add_trace(request: httpx2.Request) -> None:
    for name, value in carried_trace().items():
        request.headers.setdefault(name, value)
