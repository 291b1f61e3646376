"""An event loop of its own in a daemon thread: a session lives there, whoever calls from wherever."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from traced_loop.errors import UsageError

if TYPE_CHECKING:
    import concurrent.futures

T = TypeVar("T")

THREAD_NAME: Final = "traced-loop-mcp"


class SessionThread:
    """Takes work from any thread, until it is ended."""

    def __init__(self) -> None:
        """Start the thread."""
        self._pid = os.getpid()
        self._begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._serve, name=THREAD_NAME, daemon=True)
        self._thread.start()
        self._begun.wait()

    @property
    def is_ours(self) -> bool:
        """Whether this process has started it, and not the one that this one was forked from."""
        return self._pid == os.getpid()

    def submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        """Run it there, in the caller's context; cancelling the future cancels it.

        Raises:
            UsageError: the thread has ended, or did not come along into a child process.
        """
        try:
            if not self.is_ours:
                raise UsageError("an MCP server is used in the process that opened it; open one in this process")
            if self._loop is None:
                raise RuntimeError("no event loop")
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except BaseException as error:
            work.close()
            if isinstance(error, RuntimeError):
                raise UsageError("the MCP server is closed: run the loop inside of its `with`") from error
            raise

    def end(self, seconds: float) -> bool:
        """End the thread and all that runs on it; whether it has ended within that many seconds."""
        loop, over = self._loop, self._over
        if loop is not None and over is not None:
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(over.set)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        try:
            asyncio.run(self._until_over())
        finally:
            self._begun.set()

    async def _until_over(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._begun.set()
        await self._over.wait()
