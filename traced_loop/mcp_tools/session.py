"""A server as its tools see it: a connection that is opened again where it was lost, and what it offers now."""

import asyncio
from collections.abc import Mapping
from typing import Any

from traced_loop.errors import NotApplied
from traced_loop.mcp_tools.connection import Connection
from traced_loop.mcp_tools.offered_tools import Offer
from traced_loop.mcp_tools.sending import Sending
from traced_loop.mcp_tools.transport import ConnectionFailed, Transport


class Session:
    """Lives in one event loop, but for ``marks``."""

    def __init__(self, transport: Transport, seconds: float) -> None:
        """Nothing is opened yet.

        Args:
            transport: the way to the server.
            seconds: that the server may take to start, and again to list its tools.
        """
        self._transport = transport
        self._seconds = seconds
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._offers: list[Offer] = []
        self._changed = False
        self.marks: Mapping[str, str | int] = {}
        """What the spans say of the latest session."""

    async def open(self) -> None:
        """Start the server and ask for its tools.

        Raises:
            ConnectionFailed: it cannot be reached.
        """
        async with self._turn:
            await self._up_to_date()

    async def offers(self) -> list[Offer]:
        """What the server offers now.

        Raises:
            ConnectionFailed: it cannot be reached.
        """
        async with self._turn:
            await self._up_to_date()
        return self._offers

    async def call(
        self, offer: Offer, arguments: Mapping[str, Any], sending: Sending, *, error_is_not_applied: bool
    ) -> Any:
        """Call a tool as it was offered.

        Raises:
            ToolError: see ``Connection.call``.
            NotApplied: the server cannot be reached, offers the tool no more as it was, or the call was taken back.
        """
        async with self._turn:
            try:
                connection = await self._up_to_date()
            except ConnectionFailed as failed:
                raise NotApplied(str(failed), transient=True) from failed
        # Names are the server's: two of its tools may have one.
        if offer.fingerprint not in {now.fingerprint for now in self._offers if now.name == offer.name}:
            said = (
                "the MCP server has changed the definition of this tool since it was registered, so it was not called"
            )
            raise NotApplied(f"{said}: the program must ask McpServer.tools() again")
        sending.begin()
        return await connection.call(offer.name, arguments, error_is_not_applied=error_is_not_applied)

    async def close(self) -> None:
        """End it; bounded in time."""
        if self._connection is not None:
            await self._connection.close()

    async def _up_to_date(self) -> Connection:
        """A connection that can be used, with what the server offers known.

        Raises:
            ConnectionFailed: there is none to be had.
        """
        connection = self._connection
        if connection is not None and not connection.lost:
            try:
                await self._ask(connection)
            except ConnectionFailed:
                if not connection.lost:
                    raise
            else:
                return connection
        return await self._reopened()

    async def _reopened(self) -> Connection:
        if self._connection is not None:
            await self._connection.close()
        connection = self._connection = Connection(self._transport, self._has_changed)
        self._changed = True
        await connection.open(self._seconds)
        self.marks = connection.marks()
        await self._ask(connection)
        return connection

    async def _ask(self, connection: Connection) -> None:
        """Ask what the server offers, where that may have changed.

        Raises:
            ConnectionFailed: it does not say so.
        """
        if not self._changed and not connection.deaf:
            return
        self._changed = False  # before the answer: what changes meanwhile is asked about again
        try:
            self._offers = await asyncio.wait_for(connection.offers(), self._seconds)
        except BaseException as error:
            self._changed = True
            if isinstance(error, TimeoutError):
                said = f"{self._transport.label} gave no list of tools within {self._seconds:.3g} s"
                raise ConnectionFailed(said) from error
            raise

    def _has_changed(self) -> None:
        self._changed = True
