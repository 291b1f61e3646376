"""What a fork waits for: an import in a thread of ours.

In a forked child, a module that another thread was importing stays locked for ever, and so would be whoever imports it
there, the program's own code included.
"""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

MOST_SECONDS: Final = 5.0
"""How long a fork waits at most: many times what an import takes."""


class _Gate:
    """Held by the thread that imports, or by those that fork."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # what is imported may itself start a program, and a signal may end it all
        self.is_hooked = False
        self._here = threading.local()

    def wait(self) -> None:
        """A fork begins in this thread."""
        self._here.has_it = False  # also where Ctrl-C ends the wait
        self._here.has_it = self.lock.acquire(timeout=MOST_SECONDS)

    def go_on(self) -> bool:
        """It is over; whether it had waited for long enough. One that had begun before there were imports had not."""
        had_it: bool = getattr(self._here, "has_it", False)
        if had_it:
            self._here.has_it = False
            self.lock.release()
        return had_it

    def go_on_in_child(self) -> None:
        """It is over in the child, which has none of the other threads."""
        if not self.go_on():
            self.lock = threading.RLock()


_GATE: Final = _Gate()


@contextmanager
def forks_wait() -> Generator[None]:
    """Let no other thread fork in the block, nor be in such a block; a fork that waited ``MOST_SECONDS`` goes on."""
    with _GATE.lock:
        if not _GATE.is_hooked:
            _GATE.is_hooked = True
            os.register_at_fork(before=_GATE.wait, after_in_parent=_GATE.go_on, after_in_child=_GATE.go_on_in_child)
        yield
