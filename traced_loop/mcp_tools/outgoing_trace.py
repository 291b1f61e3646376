"""The trace of a call, put into what goes out: ``_meta`` of the request, and its context for the headers of HTTP."""

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from traced_loop.telemetry.carried_context import CarriedTrace, put_trace


class Outgoing(Protocol):
    """Takes the messages that go to a server."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        ...

    async def aclose(self) -> None:
        """Send nothing more."""
        ...


@dataclass(kw_only=True, slots=True)
class Call:
    """One call while it is carried out; ``status`` is that of the HTTP response, once there is one."""

    trace: CarriedTrace = field(default_factory=CarriedTrace)
    status: int | None = None


CALL: Final[ContextVar[Call | None]] = ContextVar("traced_loop_mcp_call", default=None)
"""The call that the current context belongs to. It goes through the SDK's tasks, where nothing else of ours does."""


class OutgoingTrace:
    """A stream of messages to a server, as the SDK wants one; requests of a call carry its trace.

    The SDK puts a trace in on its own, that of a span which it starts itself; see ``CarriedTrace``.
    """

    def __init__(self, inner: Outgoing) -> None:
        self._inner = inner

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        call = CALL.get()
        if call is None:
            await self._inner.send(item)
            return
        with call.trace.as_it_is():  # what the transport does with the message happens in this context, too
            await self._inner.send(_with_trace(item))

    async def aclose(self) -> None:
        """Send nothing more."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _with_trace(item: SessionMessage) -> SessionMessage:
    message = item.message
    if not isinstance(message, JSONRPCRequest):
        return item
    params = message.params or {}
    meta = dict(cast("dict[str, Any]", params.get("_meta") or {}))
    put_trace(meta)
    if not meta:
        return item
    return replace(item, message=message.model_copy(update={"params": {**params, "_meta": meta}}))
