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
import time
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from traced_loop.cancellation import signal_word
from traced_loop.loop.bounded_wait import Ended, result_of, start
from traced_loop.run_result import RunResult, attach_result, partial_result

T = TypeVar("T")

_Outcome = concurrent.futures.Future[Ended[T]]

_THREAD_NAME: Final = "traced-loop"
CANCEL_SECONDS: Final = 5.0
"""How long Ctrl-C, or what a signal's handler raises, waits for a run to answer its calls and end its spans."""
SIGNAL_SECONDS: Final = 0.25
"""How long a signal may go unnoticed while a run is waited for. The system hands one to any thread of the process, and
only the main one acts on it: a main thread that waits without end does not wake for what another one was handed."""


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a background loop and return its result.

    Raises:
        BaseException: whatever the coroutine raised; or Ctrl-C, or what a signal's handler raised while waiting: the
            run was cancelled first, and its partial result hangs on it.
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
        self._waiting: set[_Outcome[Any]] = set()
        threading.Thread(target=self._serve, name=_THREAD_NAME, daemon=True).start()

    @property
    def dead(self) -> bool:
        """Whether the event loop was closed, so that nothing can run on it."""
        return self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        ended: _Outcome[T] = concurrent.futures.Future()
        context = contextvars.copy_context()
        tasks: list[asyncio.Task[Ended[T]]] = []

        def begin() -> None:
            tasks.append(start(work))
            tasks[0].add_done_callback(lambda task: ended.set_result(result_of(task)))

        try:
            self._waiting.add(ended)
            # The callback's context is the one that its task is made in.
            self._loop.call_soon_threadsafe(begin, context=context)
            value, error = _result(ended)
        except BaseException as leaving:  # Ctrl-C, or what the handler of a signal raises
            latest = self._cancelled(tasks, ended, leaving)
            if latest is leaving:
                raise
            raise latest from leaving
        finally:
            self._waiting.discard(ended)
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def _serve(self) -> None:
        """Run the event loop until it is closed, whatever stops it: others wait for what runs on it."""
        while not self._loop.is_closed():
            try:
                self._loop.run_forever()
            except BaseException as error:  # noqa: BLE001 - raised by a bare callback: nobody waits for it
                if not self._loop.is_closed():
                    said = "a callback tried to end the event loop of Loop.run"
                    self._loop.call_exception_handler({"message": said, "exception": error})
        for ended in [*self._waiting]:
            ended.set_result((None, RuntimeError("what ran on the event loop of Loop.run closed it")))

    def _cancelled(
        self, tasks: "list[asyncio.Task[Any]]", ended: "_Outcome[Any]", leaving: BaseException
    ) -> BaseException:
        """Cancel the work and wait for its end, but not for ever; what is to be raised, the latest that came."""
        ends = time.monotonic() + CANCEL_SECONDS
        asked, waited, why = False, False, signal_word(leaving)
        while not waited:
            try:
                if not asked and not self.dead:
                    self._loop.call_soon_threadsafe(lambda: [task.cancel(why) for task in tasks])
                asked = True
                while not ended.done() and not self.dead and (left := ends - time.monotonic()) > 0:
                    concurrent.futures.wait([ended], min(left, SIGNAL_SECONDS))
                waited = True
            except BaseException as again:  # noqa: BLE001 - a second Ctrl-C: raised once the run has ended
                leaving = again
        if ended.done():
            value, error = ended.result()
            reached = partial_result(error) if error is not None else value
            if isinstance(reached, RunResult):
                attach_result(leaving, reached)
        return leaving


def _result(ended: "_Outcome[T]") -> Ended[T]:
    """How the work ended; what a signal's handler raises comes out of the wait."""
    heeds_signals = threading.current_thread() is threading.main_thread()
    while True:
        try:
            return ended.result(SIGNAL_SECONDS if heeds_signals else None)
        except TimeoutError:  # of the wait: what the work raises is a value
            continue


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
            self._spare = [spare for spare in self._spare if not spare.dead]
            if self._shared is None or self._shared.dead:
                self._shared = _BackgroundLoop()
            if threading.current_thread().name != _THREAD_NAME:
                return self._shared
            # Inside a loop's own thread, waiting for that loop would never end.
            return self._spare.pop() if self._spare else _BackgroundLoop()

    def give_back(self, background: _BackgroundLoop) -> None:
        with self._lock:
            if background is not self._shared and not background.dead:
                self._spare.append(background)


_LOOPS: Final = _Loops()
