"""Connections to the page, held within bounds that the server leaves open: how many, and how long one says nothing.

Whoever asks slowly, or only connects, is let go of when others come, or when its time is over.
"""

import asyncio
import math
from typing import Any, Final, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from traced_loop.web.guard.refusals import Refusal, RefusalKind, Refusals

MAX_CONNECTIONS: Final = 256
"""Connections at once; for one more, the one goes that has been without a request for longest."""
HEAD_SECONDS: Final = 5.0
"""From the beginning of a connection, or the end of an answer, to a whole head of a request."""


class BoundedConfig(uvicorn.Config):
    """Settings of the server, with what its connections share.

    Attributes:
        refusals: told of what is no request.
        held: connections that are open.
    """

    def __init__(self, app: ASGIApp, refusals: Refusals, **settings: Any) -> None:
        """Take the server's own settings, too."""
        super().__init__(app, http=BoundedConnection, **settings)
        self.refusals = refusals
        self.held: set[BoundedConnection] = set()


class BoundedConnection(H11Protocol):
    """One connection."""

    _waits_since: float | None = None
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take it in, and let another one go if there are too many."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._shared.held.add(self)
        self._watch()
        if len(self._shared.held) > MAX_CONNECTIONS:
            # This one, if all others are being answered.
            min(
                self._shared.held, key=lambda each: math.inf if each._waits_since is None else each._waits_since
            )._drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._rest()
        self._shared.held.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request in."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request of HTTP."""
        self._shared.refusals.note(Refusal(kind=RefusalKind.MALFORMED))
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # in the middle of an answer
            self._drop()

    @property
    def _shared(self) -> BoundedConfig:
        return cast("BoundedConfig", self.config)

    def _drop(self) -> None:
        self._shared.held.discard(self)
        self.transport.abort()

    def _watch(self) -> None:
        """Count the time in which no request is being answered; a piece of one does not begin it anew."""
        if self.cycle is not None and not self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]
            self._rest()
        elif self._patience is None:
            self._waits_since = self.loop.time()
            self._patience = self.loop.call_later(HEAD_SECONDS, self._drop)

    def _rest(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = self._waits_since = None
