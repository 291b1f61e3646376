"""One is made, whoever asks, and none once it is over."""

from __future__ import annotations

import threading

import pytest

from traced_loop.export.made_once import MadeOnce

from ..hangs import HANGS


def test_threads_that_ask_at_once_get_the_same() -> None:
    """The second waits for the first, which is still at it."""
    begun, goes_on = threading.Event(), threading.Event()
    makers: list[str] = []

    def make() -> object:
        makers.append(threading.current_thread().name)
        begun.set()
        goes_on.wait(HANGS)
        return object()

    wanted, got = MadeOnce(make), list[object]()
    threads = [threading.Thread(target=lambda: got.append(wanted.get()), name=str(n)) for n in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(HANGS)
    goes_on.set()
    for thread in threads:
        thread.join(HANGS)
    assert (len(makers), len(got), len(set(map(id, got)))) == (1, 3, 1)


def test_what_cannot_be_made_is_said_each_time() -> None:
    """It may be possible later."""
    wanted: MadeOnce[int] = MadeOnce(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            wanted.get()


def test_the_end_gives_what_is_to_be_ended() -> None:
    """And nothing is made after it."""
    made, never = MadeOnce(lambda: 7), MadeOnce(lambda: 7)
    assert made.get() == 7
    assert (made.end(), never.end(), never.get()) == (7, None, None)
