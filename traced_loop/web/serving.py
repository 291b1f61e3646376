"""The server of the page: on loopback only, until it is told to end, with nothing that goes on after it."""

import asyncio
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn

from traced_loop.errors import UsageError
from traced_loop.read.local_store import LocalStore
from traced_loop.records.store import store_folder
from traced_loop.web.bounded_connections import BoundedConfig
from traced_loop.web.guard.access import Access
from traced_loop.web.guard.peer_user import can_tell
from traced_loop.web.guard.refusals import Refusal, Refusals
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.live_runs import LiveRuns
from traced_loop.web.loops_of_page import LoopsOfPage
from traced_loop.web.page_app import page_app
from traced_loop.web.site import Site

HOSTS: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
"""This machine, and nobody else; the second one where there is no first."""
_END_SECONDS: Final = 1
"""That answers have which are being given when the server is told to end."""
_LAST_SECONDS: Final = 1.6
"""After which it ends whatever still goes on, a page that reads a huge trace for example."""
_BACKLOG: Final = 128
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class PageServer:
    """One server; its address is taken when it is made, so that a port that is in use is an error at once.

    Attributes:
        on_new_link: told each link that is made because one was used.
        on_fault: told what a page failed with.
    """

    def __init__(
        self,
        store: Path | str | None,
        port: int,
        tell: Callable[[Refusal], None],
        *,
        loops: LoopsOfPage | None = None,
        offered: LiveChoices | None = None,
    ) -> None:
        """Take the address.

        Args:
            store: folder of the store; None as for ``Loop``.
            port: 0 for one that is free.
            tell: told once of each kind of refused request.
            loops: what can go on from the page; None for nothing.
            offered: what runs that begin on the page have; None for the environment's model and the shipped tools.

        Raises:
            UsageError: the port cannot be had, or the store is no folder or cannot be read.
        """
        self._folder = _readable(store_folder(store))
        self._refusals = Refusals(tell)
        self._socket = _listening(port)
        self._loops = loops
        self._offered = offered
        self._access = Access()
        self.on_new_link: Callable[[str], None] = lambda _link: None
        self.on_fault: Callable[[BaseException], None] = lambda _error: None

    @property
    def link(self) -> str:
        """The address with a token that is good once; another one each time after it was used."""
        return self._link(self._access.link_token)

    @property
    def opening_link(self) -> str | None:
        """The address for a browser that this program starts: good once, and of no use to other users who see it there.

        None where the system does not say whose a connection is.
        """
        token = self._access.opening_token
        return self._link(token) if token is not None and can_tell() else None

    def serve(self) -> None:
        """Answer until Ctrl-C or SIGTERM."""
        asyncio.run(self._serve())

    def close(self) -> None:
        """Give the address up; for a server that does not serve. Closing twice is fine."""
        self._socket.close()

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._loop_fault)
        site = Site.of(self._folder, os.environ, loops=self._loops, offered=self._offered)
        app, ending = page_app(
            site,
            self._access,
            self._refusals,
            redeemed=lambda: self.on_new_link(self.link),
            failed=lambda error: self.on_fault(error),
        )
        config = BoundedConfig(
            app,
            self._refusals,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=_END_SECONDS,
        )
        try:
            await _Server(config, ending, site.live).serve(sockets=[self._socket])
        finally:
            site.live.stop_all()

    def _link(self, token: str) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"

    def _loop_fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception) and not isinstance(error, OSError):  # a connection that broke is no fault
            self.on_fault(error)


class _Server(uvicorn.Server):
    """A server that ends when it is told to: it ends the streams of its pages first, which otherwise would keep it."""

    def __init__(self, config: uvicorn.Config, ending: asyncio.Event, live: LiveRuns) -> None:
        super().__init__(config)
        self._ending = ending
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending.set()
        self._live.stop_all(within=0)  # they end beside the answers that are still being given
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take the signals that end it, without raising them again after it: to be ended is how it ends well."""
        before = {number: signal.getsignal(number) for number in _ENDING}
        taken = {number: handler for number, handler in before.items() if handler not in {signal.SIG_IGN, None}}
        for number in taken:
            signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number, handler in taken.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End: the first time what is being answered is waited for, the second time nothing is."""
        del sig, frame
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        last = threading.Timer(_LAST_SECONDS, os._exit, [0])
        last.daemon = True
        last.start()


def _readable(folder: Path) -> Path:
    try:
        LocalStore.open(folder).close()
    except OSError as error:
        raise UsageError(f"the store {folder} cannot be read: {error.strerror or error}") from error
    return folder


def _listening(port: int) -> socket.socket:
    """A socket that takes connections from now on; who comes before the server runs is served when it does."""
    missing: OSError | None = None
    for family, host in HOSTS:
        try:
            return _bound(family, host, port)
        except OSError as error:
            if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                why = error.strerror or error
                raise UsageError(
                    f"the port {port} cannot be had ({why}): take another one, or a free one with --port 0"
                ) from error
            missing = error
    raise UsageError(f"this machine has no loopback address: {missing}")


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    return made
