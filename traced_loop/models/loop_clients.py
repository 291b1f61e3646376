"""The official client: made when it is first needed, once for each event loop, and closed with it or with its owner."""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, cast
from urllib.request import getproxies

from traced_loop.errors import UsageError
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.models.bounded_bodies import bound_body
from traced_loop.models.model_errors import TOO_MANY_FILES, too_many_files
from traced_loop.redaction import redact_text

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from traced_loop.models.asyncio_stream import AsyncioTransport

    _Made = tuple[AsyncOpenAI, AsyncioTransport | None]
    _Ending = AsyncGenerator[None, None]
    _Clients = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[_Made, _Ending]]


class LoopClients:
    """The clients of one server, each for the event loop that it was made in: connections cannot leave theirs."""

    def __init__(self, api_key: str, base_url: str) -> None:
        """Nothing is made yet."""
        self._api_key = api_key
        self._base_url = base_url
        self._clients: _Clients = weakref.WeakKeyDictionary()
        self._making = ForkSafeLock()
        weakref.finalize(self, _close, self._clients).atexit = False

    def here(self) -> "tuple[AsyncOpenAI, bool]":
        """The client of the running event loop, and whether it has just been made.

        Raises:
            UsageError: it cannot be made.
        """
        loop = asyncio.get_running_loop()
        known = self._clients.get(loop)
        if known is not None:
            return known[0][0], False
        made = _new_client(self._api_key, self._base_url)
        ending = _ended_with_loop(made[0], self._clients)
        with suppress(StopIteration):
            ending.asend(None).send(None)
        with self._making:  # threads each have a loop
            _forget_closed(self._clients)
            self._clients[loop] = made, ending
        return made[0], True


async def _ended_with_loop(client: "AsyncOpenAI", clients: "_Clients") -> AsyncGenerator[None, None]:
    """Wait until the event loop ends, which closes the asynchronous generators that were begun in it; then close."""
    try:
        yield
    finally:
        clients.pop(asyncio.get_running_loop(), None)
        await client.close()


def _forget_closed(clients: "_Clients") -> None:
    """Let go of clients whose event loop was closed without an end of its generators: nothing can be awaited there."""
    for reference in clients.keyrefs():  # a copy: other threads' event loops come and go
        loop = reference()
        if loop is None or not loop.is_closed():
            continue
        entry = clients.pop(loop, None)
        if entry is not None and entry[0][1] is not None:
            entry[0][1].let_go()


def _close(clients: "_Clients") -> None:
    """Close the connections of a model that nobody holds any more, on the event loops that they belong to."""
    for loop, (_, ending) in list(clients.items()):
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(ending.aclose(), loop)


def _new_client(api_key: str, base_url: str) -> "_Made":
    """A client with nothing sent yet, and what carries its requests where that is ours.

    Raises:
        UsageError: the environment (a proxy, a certificate file) is one that it cannot work with.
    """
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    try:
        transport = _transport(base_url)
        http_client = DefaultAsyncHttpxClient(
            base_url=base_url, event_hooks={"response": [bound_body]}, transport=transport
        )
        client = AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http_client)
    except Exception as error:
        if too_many_files(error):
            raise UsageError(TOO_MANY_FILES) from error
        raise UsageError(
            f"the openai client cannot be made ({type(error).__name__}: {redact_text(str(error))}): look at the proxy"
            " and SSL_CERT_FILE variables"
        ) from error
    return client, transport


def _transport(base_url: str) -> "AsyncioTransport | None":
    """What carries requests in less time than the client's own; None for that.

    The client looks for proxies only where it may make its own; older ones stand on another HTTP library; and TLS of
    another event loop than asyncio's own (uvloop) can lose the end of an answer that is read slowly.
    """
    from openai import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpxClient

    if any(scheme != "no" for scheme in getproxies()):
        return None
    if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        return None
    try:
        import httpx2

        from traced_loop.models.asyncio_stream import AsyncioTransport

        if not issubclass(cast("type[object]", DefaultAsyncHttpxClient), httpx2.AsyncClient):
            return None
        return AsyncioTransport(DEFAULT_CONNECTION_LIMITS, secure=not base_url.lower().startswith("http://"))
    except (ImportError, AttributeError, TypeError):  # a version of the library that is not the one we know
        return None
