"""``Loop.run`` without an event loop of the caller's: coroutines run on one loop in a daemon thread.

One loop for the whole process, so that connections are reused over any number of calls from any thread. The caller's
context goes with the coroutine, so the caller's current span is the run's parent. Works inside a running event loop
too (the caller's thread is blocked, as by any synchronous call).
"""

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from traced_loop.run_result import RunResult, attach_result, partial_result

T = TypeVar("T")

_THREAD_NAME: Final = "traced-loop"
CANCEL_SECONDS: Final = 5.0
"""How long Ctrl-C waits for a run to answer its calls and end its spans."""


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a background loop and return its result.

    Raises:
        KeyboardInterrupt: Ctrl-C while waiting; the run was cancelled first, and its partial result hangs on it.
        BaseException: whatever the coroutine raised.
    """
    background = _LOOPS.take()
    try:
        return background.run(work)
    finally:
        _LOOPS.give_back(background)


class _BackgroundLoop:
    """One event loop in one daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=_THREAD_NAME, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        ended: concurrent.futures.Future[tuple[T | None, BaseException | None]] = concurrent.futures.Future()
        context = contextvars.copy_context()
        tasks: list[asyncio.Task[None]] = []

        async def guarded() -> None:
            # Everything is handed over as a value: SystemExit would end the loop for all other runs.
            try:
                ended.set_result((await work, None))
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                ended.set_result((None, error))

        self._loop.call_soon_threadsafe(
            lambda: tasks.append(self._loop.create_task(guarded(), context=context)), context=context
        )
        try:
            value, error = ended.result()
        except KeyboardInterrupt as interrupt:
            self._cancel(tasks, ended, interrupt)
            raise
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def _cancel(
        self,
        tasks: list[asyncio.Task[None]],
        ended: "concurrent.futures.Future[tuple[Any, BaseException | None]]",
        interrupt: KeyboardInterrupt,
    ) -> None:
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        concurrent.futures.wait([ended], timeout=CANCEL_SECONDS)
        if ended.done():
            value, error = ended.result()
            reached = partial_result(error) if error is not None else value
            if isinstance(reached, RunResult):
                attach_result(interrupt, reached)


class _Loops:
    """The shared loop, and spare ones for runs that are started from a run's own loop (a tool that runs a loop)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: _BackgroundLoop | None = None
        self._spare: list[_BackgroundLoop] = []
        self._pid = os.getpid()

    def take(self) -> _BackgroundLoop:
        if self._pid != os.getpid():  # threads do not cross a fork
            self._lock, self._shared, self._spare, self._pid = threading.Lock(), None, [], os.getpid()
        with self._lock:
            if self._shared is None:
                self._shared = _BackgroundLoop()
            if threading.current_thread().name != _THREAD_NAME:
                return self._shared
            # Inside a loop's own thread, waiting for that loop would never end.
            return self._spare.pop() if self._spare else _BackgroundLoop()

    def give_back(self, background: _BackgroundLoop) -> None:
        with self._lock:
            if background is not self._shared:
                self._spare.append(background)


_LOOPS: Final = _Loops()
