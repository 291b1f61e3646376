"""A process says that it is there while it holds something: by one thread that ends by itself, and none otherwise."""

from __future__ import annotations

import os
import threading

from traced_loop.records.heartbeats import Heartbeats

NAME = "traced-loop-lease"


def beating() -> list[threading.Thread]:
    """The threads that beat."""
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def test_it_beats_while_something_is_held_and_then_no_more() -> None:
    """One thread, however much is held; a beat that raises is followed by the next."""
    beats, enough = list[int](), threading.Event()

    def beat() -> None:
        beats.append(1)
        if len(beats) == 3:
            enough.set()
        raise OSError

    before = set(beating())
    held = Heartbeats(beat, every=0.005)
    assert set(beating()) == before
    for name in ("a", "b"):
        held.hold(name)
    (thread,) = set(beating()) - before
    held.release("a")
    assert enough.wait(20)
    held.release("b")
    thread.join(20)

    assert not thread.is_alive()
    held.hold("c")
    (again,) = set(beating()) - before
    assert again is not thread
    held.release("c")
    again.join(20)


def test_a_forked_child_holds_nothing_and_may_hold_something_of_its_own() -> None:
    """Its parent's thread is not there."""
    held = Heartbeats(lambda: None, every=60)
    held.hold("a")
    pid = os.fork()
    if pid == 0:
        before = len(beating())
        held.hold("b")
        os._exit(0 if (before, len(beating()), held._held) == (0, 1, {"b"}) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    held._over.set()
