"""Waiting for work that may never end."""

import asyncio
from typing import Any

import pytest

from traced_loop.loop.bounded_wait import TimedOut, within


async def stubborn(end: asyncio.Event) -> None:
    """Work that does not end when it is cancelled."""
    while not end.is_set():
        try:
            await end.wait()
        except asyncio.CancelledError:
            continue


def test_work_that_ends_in_time_gives_its_result() -> None:
    """The wait adds nothing and takes nothing."""

    async def work() -> int:
        return 42

    assert asyncio.run(within(work(), 5)) == 42


def test_work_that_raises_raises() -> None:
    """An error of the work is the caller's."""

    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(within(work(), 5))


def test_work_that_ends_when_cancelled_is_not_abandoned() -> None:
    """Work that heeds its cancellation has cleaned up by the time the wait ends."""
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")

    with pytest.raises(TimedOut) as timed_out:
        asyncio.run(within(work(), 0.01))

    assert (timed_out.value.abandoned, cleaned) == (False, ["up"])


def test_work_that_does_not_heed_its_cancellation_is_left_behind() -> None:
    """The wait ends all the same."""

    async def run() -> bool:
        end = asyncio.Event()
        with pytest.raises(TimedOut) as timed_out:
            await within(stubborn(end), 0.01)
        end.set()
        return timed_out.value.abandoned

    assert asyncio.run(run()) is True


def test_a_result_that_comes_while_the_work_is_cancelled_is_kept() -> None:
    """What was paid for is not thrown away."""

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "just in time"
        return "never"

    assert asyncio.run(within(work(), 0.01)) == "just in time"


def test_a_cancelled_caller_cancels_the_work() -> None:
    """Nothing goes on in the background, and the cancellation goes on to the caller's caller."""
    ended: list[Any] = []

    async def work(started: asyncio.Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            ended.append(error)
            raise

    async def run() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(within(work(started), 5))
        await started.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())

    assert len(ended) == 1


def test_an_error_in_the_moment_of_a_cancellation_is_nobodys() -> None:
    """Work that fails after nobody waits for it any more leaves no complaint behind."""
    complaints: list[dict[str, Any]] = []

    async def work(started: asyncio.Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        started = asyncio.Event()
        task = asyncio.create_task(within(work(started), 5))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())

    assert complaints == []
