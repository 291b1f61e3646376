"""One session with a server, from the handshake until it is closed or lost; lives in one event loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, cast

from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from traced_loop import names
from traced_loop.errors import ToolError
from traced_loop.mcp_tools.call_result import error_of, lost, value_of
from traced_loop.mcp_tools.offered_tools import Offer, fingerprint_of
from traced_loop.mcp_tools.outgoing_trace import CALL, Call, OutgoingTrace
from traced_loop.mcp_tools.transport import ConnectionFailed, Streams, Transport
from traced_loop.redaction import redact_text
from traced_loop.version import __version__

CLOSE_SECONDS: Final = 10.0
"""How long a session may take to end; a server that does not answer is left then."""
MAX_PAGES: Final = 100
"""Of a list of tools; a server whose list goes on after that has no end."""
MAX_TOOLS: Final = 1_000
"""Of one server. A model is lost among far fewer."""
_SHOWN_CHARACTERS: Final = 300
_NAME_CHARACTERS: Final = 64

_RESULT: Final[TypeAdapter[CallToolResult | InputRequiredResult]] = TypeAdapter(CallToolResult | InputRequiredResult)


class Connection:
    """See the module."""

    def __init__(self, transport: Transport, on_changed: Callable[[], None]) -> None:
        """Nothing is opened yet.

        Args:
            transport: the way to the server.
            on_changed: called when the server says that its tools have changed.
        """
        self._transport = transport
        self._on_changed = on_changed
        self._closing = asyncio.Event()
        self._ready = asyncio.Event()
        self._client: Client | None = None
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False
        self.lost = False
        """Whether no call can be made any more."""
        self.deaf = False
        """Whether the server would say that its tools have changed, and is not heard."""

    async def open(self, seconds: float) -> None:
        """Reach the server and agree with it on what is spoken.

        Raises:
            ConnectionFailed: it did not work within that many seconds; nothing of it is left.
        """
        self._task = asyncio.create_task(self._serve())
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({self._task, ready}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            await self.close(at_once=True)
            raise
        finally:
            ready.cancel()
        if self._client is None:
            ended = self._task.done()
            await self.close(at_once=True)
            why = _why(self._error) if ended else f"no answer within {seconds:.3g} s"
            raise ConnectionFailed(f"{self._transport.label} did not start: {why}{self._transport.last_words()}")

    async def close(self, *, at_once: bool = False) -> None:
        """End the session, and with it what the transport started; bounded in time."""
        self._closing.set()
        if self._task is None:
            return
        if self._ready.is_set() and not at_once:
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
        if not self._cancelled:  # a second one would interrupt the end itself
            self._cancelled = True
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
        self._transport.kill()

    def marks(self) -> Mapping[str, str | int]:
        """What the spans say of the session that was opened."""
        found = dict(self._transport.marks())
        if self._client is not None:
            found[names.MCP_PROTOCOL_VERSION] = self._client.protocol_version
            about = self._client.server_info
            if about is not None:
                found[names.MCP_SERVER_NAME] = about.name[:_NAME_CHARACTERS]
                found[names.MCP_SERVER_VERSION] = about.version[:_NAME_CHARACTERS]
        return found

    async def offers(self) -> list[Offer]:
        """What the server says of its tools.

        Raises:
            ConnectionFailed: it says nothing that can be read, or has no end.
        """
        found: list[Offer] = []
        cursor: str | None = None
        try:
            for _ in range(MAX_PAGES):
                page = await self._running().list_tools(cursor=cursor)
                found += [_offer(tool) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None or len(found) > MAX_TOOLS:
                    break
        except ToolError as error:
            raise ConnectionFailed(f"{self._transport.label}: {error}") from error
        except (MCPError, ValidationError) as error:
            if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                self.lost = True
            raise ConnectionFailed(f"{self._transport.label} gave no list of tools: {_why(error)}") from error
        if cursor is not None or len(found) > MAX_TOOLS:
            raise ConnectionFailed(f"{self._transport.label} lists more than {MAX_TOOLS} tools on {MAX_PAGES} pages")
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any], *, error_is_not_applied: bool) -> Any:
        """Call a tool; a cancellation is told to the server.

        Args:
            tool: in the server's words.
            arguments: validated.
            error_is_not_applied: see ``value_of``.

        Raises:
            ToolError: see ``call_result``.
        """
        call = Call()
        token = CALL.set(call)
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        try:
            with call.trace.unsampled():
                # Not ``call_tool``: it checks the result against a schema of the server's with patterns of the
                # server's, which may take for ever.
                result = await self._running().session.send_request(request, _RESULT)
        except MCPError as error:
            raise error_of(error, call.status) from error
        except ValidationError as error:
            raise ToolError("the MCP server's answer is no valid result of a tool") from error
        finally:
            CALL.reset(token)
        return value_of(result, error_is_not_applied=error_is_not_applied)

    def _running(self) -> Client:
        """The client of the session.

        Raises:
            ToolError: it was lost.
        """
        if self._client is None:
            raise lost()
        return self._client

    async def _serve(self) -> None:
        try:
            about = Implementation(name="traced_loop", version=__version__)
            client = Client(self._streams(), cache=None, client_info=about, message_handler=self._told)
            async with AsyncExitStack() as stack:
                self._client = await stack.enter_async_context(client)
                self._ready.set()
                await self._listen_until_closed(client)
        except BaseException as error:  # noqa: BLE001 - said by whoever opened it; once open, the session is lost
            self._error = error
        finally:
            self.lost, self._client = True, None

    async def _listen_until_closed(self, client: Client) -> None:
        """Newer protocols say that tools have changed only to those who listen."""
        capability = client.server_capabilities.tools
        listens = client.protocol_version in MODERN_PROTOCOL_VERSIONS and capability and capability.list_changed
        listening = asyncio.create_task(self._listen(client)) if listens else None
        try:
            await self._closing.wait()
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait({listening})

    async def _listen(self, client: Client) -> None:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._on_changed()
        except (MCPError, ListenNotSupportedError, SubscriptionLost):
            pass  # as where the server ends it
        finally:
            self.deaf = True

    async def _told(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._on_changed()

    @asynccontextmanager
    async def _streams(self) -> AsyncGenerator[Streams, None]:
        async with self._transport.opened(self._lose) as (incoming, outgoing):
            yield incoming, OutgoingTrace(outgoing)

    def _lose(self) -> None:
        self.lost = True


def _offer(tool: Tool) -> Offer:
    hints = tool.annotations
    said = tool.model_dump(mode="json", by_alias=True, exclude={"icons", "meta"})
    return Offer(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema,
        read_only=hints.read_only_hint if hints else None,
        destructive=hints.destructive_hint if hints else None,
        fingerprint=fingerprint_of(said),
    )


def _why(error: BaseException | None) -> str:
    """The first of what went wrong, in a few words."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if error is None:
        return "it ended"
    if isinstance(error, ValidationError):
        return "it is not what the protocol says"
    said = redact_text(str(error))[:_SHOWN_CHARACTERS]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
