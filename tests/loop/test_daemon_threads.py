"""Threads for synchronous tools."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Any

import pytest

from traced_loop.loop.daemon_threads import DaemonThreads


def ended(work: Any, threads: DaemonThreads | None = None) -> tuple[Any, BaseException | None]:
    """How work in a thread ended."""

    async def run() -> tuple[Any, BaseException | None]:
        return await (threads or DaemonThreads("test-tool")).run(work)

    return asyncio.run(run())


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(), SystemExit(3), KeyboardInterrupt()])
def test_what_the_work_raises_travels_as_a_value(error: BaseException) -> None:
    """Nothing that a tool raises reaches the event loop on its own."""

    def work() -> None:
        raise error

    assert ended(work) == (None, error)


def test_an_idle_thread_is_used_again() -> None:
    """Work after work takes one thread."""
    threads = DaemonThreads("test-tool")

    assert len({ended(threading.get_ident, threads)[0] for _ in range(50)}) == 1


def test_a_thread_sees_the_context_of_its_caller_and_keeps_nothing() -> None:
    """Context variables go with the work, and what the work sets stays in its own copy."""
    variable = contextvars.ContextVar("variable", default="none")
    threads = DaemonThreads("test-tool")
    variable.set("caller's")

    def work() -> str:
        seen = variable.get()
        variable.set("tool's")
        return seen

    assert (ended(work, threads)[0], variable.get(), ended(work, threads)[0]) == ("caller's", "caller's", "caller's")


def test_threads_that_hang_take_no_place_of_others() -> None:
    """Ten threads that never return do not keep an eleventh from working."""
    end, threads = threading.Event(), DaemonThreads("test-tool")

    async def run() -> Any:
        for _ in range(10):
            threads.run(end.wait).cancel()
        return await asyncio.wait_for(threads.run(lambda: "done"), 5)

    assert asyncio.run(run()) == ("done", None)
    end.set()


def test_work_may_end_after_its_event_loop() -> None:
    """A result that nobody can be told any more is dropped without a complaint."""
    end, left = threading.Event(), threading.Event()
    threads = DaemonThreads("test-tool")

    def work() -> None:
        end.wait()
        left.set()

    async def run() -> None:
        threads.run(work).cancel()

    asyncio.run(run())
    end.set()

    assert left.wait(60)
    assert ended(lambda: "the thread is still of use", threads)[1] is None


def test_a_hung_thread_does_not_hold_the_process() -> None:
    """The interpreter exits while a tool hangs."""
    script = """
import asyncio, threading
from traced_loop.loop.daemon_threads import DaemonThreads
async def run():
    DaemonThreads("hung").run(threading.Event().wait)
asyncio.run(run())
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=30, check=False).returncode == 0
