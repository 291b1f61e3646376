"""Waiting for work that may never end: bounded by the clock, whatever the work does about being cancelled."""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

Ended = tuple[T | None, BaseException | None]
"""What work gave and what it raised, one of them None."""

GRACE_SECONDS: Final = 0.1
"""How long cancelled work may take to clean up before it is left behind."""


class TimedOut(Exception):
    """The time was over; ``abandoned`` is True when the work did not even end when it was cancelled."""

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__("timed out")
        self.abandoned = abandoned


async def within(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """The work's result, if it comes within that many seconds.

    Raises:
        TimedOut: it did not; the work was cancelled, and left behind when that did not end it.
        BaseException: what the work raised, or the caller's own cancellation, which cancels the work too.
    """
    task = start(work)
    try:
        done = await done_within(task, seconds)
    except BaseException:
        await _stop(task)
        raise
    if not done:
        abandoned = not await _stop(task)
        if abandoned or task.cancelled() or task.result()[1] is not None:
            raise TimedOut(abandoned=abandoned)
        # It ended in the same moment: what was paid for is not thrown away.
    value, error = result_of(task)
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


async def done_within(future: "asyncio.Future[Any]", seconds: float) -> bool:
    """Whether a future is done within that many seconds; it is left as it is. What ``asyncio.wait`` does, for one."""
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake(_: object) -> None:
        if not waiter.done():
            waiter.set_result(None)

    future.add_done_callback(wake)
    timer = loop.call_later(max(0.0, seconds), wake, None)
    try:
        await waiter
    finally:
        timer.cancel()
        future.remove_done_callback(wake)
    return future.done()


def start(work: Awaitable[T]) -> "asyncio.Task[Ended[T]]":
    """The work in a task of its own. Whatever it raises is the task's result, to be raised by whoever waits.

    A ``SystemExit`` that left a task as an exception would end the event loop, with all other work on it.
    """
    task = asyncio.ensure_future(_as_value(work))
    if asyncio.iscoroutine(work):
        task.add_done_callback(lambda _: work.close())  # one that was cancelled before it began never ran
    return task


def result_of(task: "asyncio.Task[Ended[T]]") -> Ended[T]:
    """What an ended task of ``start`` gave; a cancellation before it began is one that it raised."""
    return (None, asyncio.CancelledError()) if task.cancelled() else task.result()


async def cancel_all(tasks: "Sequence[asyncio.Task[Any]]", seconds: float) -> bool:
    """Cancel tasks and wait until they have ended; whether they have within that many seconds.

    The wait outlives cancellations of the waiter, of which some callers send one in each turn of the event loop.

    Raises:
        CancelledError: the waiter was cancelled meanwhile; the tasks have ended, or the seconds are over.
    """
    for task in tasks:
        task.cancel()
    clock = asyncio.get_running_loop().time
    ends = clock() + seconds
    cancelled: asyncio.CancelledError | None = None
    while (going := [task for task in tasks if not task.done()]) and (left := ends - clock()) > 0:
        try:
            await asyncio.wait(going, timeout=left)
        except asyncio.CancelledError as again:
            cancelled = again
    if cancelled is not None:
        raise cancelled
    return not going


def leave_behind(task: "asyncio.Task[Any]") -> None:
    """Let go of a task that does not heed its cancellation, so that ``asyncio.run`` does not wait for it at its end.

    By what asyncio documents for those who extend it.
    """
    if not task.done():
        asyncio._unregister_task(task)
        task._log_destroy_pending = False  # type: ignore[attr-defined]


async def _stop(task: "asyncio.Task[Any]") -> bool:
    """Cancel a task and let go of it; whether it has ended.

    Raises:
        CancelledError: as ``cancel_all``.
    """
    try:
        return await cancel_all([task], GRACE_SECONDS)
    finally:
        leave_behind(task)


async def _as_value(work: Awaitable[T]) -> Ended[T]:
    try:
        return await work, None
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
        return None, error
