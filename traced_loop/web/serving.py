"""The server of the page: on loopback only, until it is told to end, with nothing that goes on after it."""

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn

from traced_loop.errors import UsageError
from traced_loop.records.store import store_folder
from traced_loop.web.guard.access import Access
from traced_loop.web.guard.refusals import Refusal
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.live_runs import LiveRuns
from traced_loop.web.page_app import page_app
from traced_loop.web.site import Site
from traced_loop.web.store_changes import StoreChanges

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 7463
_MAX_CONNECTIONS: Final = 256
_END_SECONDS: Final = 1


class PageServer:
    """One server; its address is taken when it is made, so that a port that is in use is an error at once."""

    def __init__(
        self,
        store: Path | str | None,
        port: int,
        tell: Callable[[Refusal], None],
        *,
        offered: LiveChoices | None = None,
    ) -> None:
        """Take the address.

        Args:
            store: folder of the store; None as for ``Loop``.
            port: 0 for one that is free.
            tell: told once of each kind of refused request.
            offered: what runs that begin on the page have; None for the environment's model and the shipped tools.

        Raises:
            UsageError: the port cannot be had.
        """
        self._folder = store_folder(store)
        self._tell = tell
        self._offered = offered or LiveChoices()
        self._socket = _bound(port)
        self._access = Access()
        self.on_new_link: Callable[[str], None] = lambda _link: None

    @property
    def link(self) -> str:
        """The address with a token that is good once; another one each time after it was used."""
        return f"http://{HOST}:{self._socket.getsockname()[1]}/?token={self._access.link_token}"

    def serve(self) -> None:
        """Answer until Ctrl-C or SIGTERM."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        changes = StoreChanges(self._folder)
        site = Site(folder=self._folder, environment=os.environ, changes=changes, offered=self._offered)
        app, ending = page_app(site, self._access, tell=self._tell, redeemed=lambda: self.on_new_link(self.link))
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            limit_concurrency=_MAX_CONNECTIONS,
            timeout_graceful_shutdown=_END_SECONDS,
        )
        try:
            await _Server(config, ending, site.live).serve(sockets=[self._socket])
        finally:
            site.live.stop_all()


class _Server(uvicorn.Server):
    """A server that ends the streams of its pages first, which otherwise would keep it."""

    def __init__(self, config: uvicorn.Config, ending: asyncio.Event, live: LiveRuns) -> None:
        super().__init__(config)
        self._ending = ending
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending.set()
        self._live.stop_all(within=0)  # they end beside the answers that are still being given
        await super().shutdown(sockets)


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        made.listen()  # a browser may follow the link before anybody answers: it waits then
    except (OSError, OverflowError) as error:
        made.close()
        raise UsageError(
            f"the port {port} cannot be had ({error}): take another one, or a free one with --port 0"
        ) from error
    return made
