"""Threads for synchronous tools. They never hold the process at exit, and one that hangs is left behind.

A ``ThreadPoolExecutor`` would be joined at exit, so one hung tool would hold the process for as long as it hangs.
"""

import asyncio
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, Final

IDLE_SECONDS: Final = 30.0
"""An idle thread ends after this."""


class DaemonThreads:
    """Runs callables in daemon threads, reusing idle ones."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def run(self, work: Callable[[], Any]) -> "asyncio.Future[tuple[Any, BaseException | None]]":
        """Start the work in a thread, in a copy of the current context.

        The future belongs to the running loop and gives the result and what was raised, one of them None. Cancelling
        it does not end the work: nothing can end a thread.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def job(worker: _Worker) -> None:
            # The error travels as a value: a future refuses StopIteration, and SystemExit would end the event loop.
            try:
                ended: tuple[Any, BaseException | None] = (context.run(work), None)
            except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
                ended = (None, raised)
            self._rest(worker)
            try:
                loop.call_soon_threadsafe(_settle, future, ended)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more

        self._worker().jobs.put(job)
        return future

    def leave(self, worker: "_Worker") -> bool:
        """Whether an idle worker may end; False when a job was just given to it."""
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                return True
        return False

    def _worker(self) -> "_Worker":
        if self._pid != os.getpid():  # threads do not cross a fork
            self._idle, self._lock, self._pid = [], threading.Lock(), os.getpid()
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return _Worker(self)

    def _rest(self, worker: "_Worker") -> None:
        with self._lock:
            self._idle.append(worker)


class _Worker:
    """One thread and its jobs."""

    def __init__(self, owner: DaemonThreads) -> None:
        self.jobs: queue.SimpleQueue[Callable[[_Worker], None]] = queue.SimpleQueue()
        self._owner = owner
        threading.Thread(target=self._work, name=owner.name, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self.jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                if self._owner.leave(self):
                    return
                continue
            job(self)
            del job  # an idle worker must not keep the last job's values alive


def _settle(
    future: "asyncio.Future[tuple[Any, BaseException | None]]", ended: tuple[Any, BaseException | None]
) -> None:
    if not future.done():
        future.set_result(ended)
