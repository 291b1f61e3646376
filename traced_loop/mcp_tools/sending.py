"""Whether a call was sent, agreed between the thread that waits for it and the one that sends it."""

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from traced_loop.errors import NotApplied, ToolError

if TYPE_CHECKING:
    import concurrent.futures


class Sending:
    """One call: it is either sent, or taken back before it was, and both sides know which."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent = False
        self._taken_back = False

    def begin(self) -> None:
        """Say that it is being sent.

        Raises:
            NotApplied: it was taken back.
        """
        with self._lock:
            if self._taken_back:
                raise _not_sent()
            self._sent = True

    def take_back(self) -> bool:
        """Say that it must not be sent any more; whether that was in time."""
        with self._lock:
            self._taken_back = True
            return not self._sent


async def answer_of(future: "concurrent.futures.Future[Any]", sending: Sending) -> Any:
    """What a call gave.

    Raises:
        NotApplied: it was cancelled before it was sent.
        CancelledError: it was cancelled after that; the server is told.
        ToolError: the session was closed meanwhile.
    """
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError as cancelled:
        if sending.take_back():
            raise _not_sent() from cancelled
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ToolError("the MCP server was closed before an answer came", transient=True) from cancelled


def _not_sent() -> NotApplied:
    return NotApplied("the call was not sent: the MCP server was not ready in time", transient=True)
