"""Waiting for work that may never end: bounded by the clock, whatever the work does about being cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

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
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=max(0.0, seconds))
    except BaseException:
        await _cancel(task)
        raise
    if done:
        return task.result()
    ended = await _cancel(task)
    if task.done() and not task.cancelled() and task.exception() is None:
        return task.result()  # it ended in the same moment: what was paid for is not thrown away
    raise TimedOut(abandoned=not ended)


async def _cancel(task: "asyncio.Future[Any]") -> bool:
    """Cancel and wait a moment; whether the work has ended."""
    # Whatever the work still raises is its own affair: nobody waits for it any more.
    task.add_done_callback(lambda t: None if t.cancelled() else t.exception())
    if task.done():
        return True
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
    return task.done()
