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

_LOCK: Final = threading.RLock()  # what is imported may itself start a program
_HOOKED: Final = threading.Event()
_HERE: Final = threading.local()
"""Of each thread that forks, whether it has the lock."""


@contextmanager
def forks_wait() -> Generator[None]:
    """Let no other thread fork in the block; one that has waited for ``MOST_SECONDS`` does."""
    with _LOCK:
        if not _HOOKED.is_set():
            _HOOKED.set()
            os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on)
        yield


def _wait() -> None:
    _HERE.has_it = _LOCK.acquire(timeout=MOST_SECONDS)


def _go_on() -> None:
    if _HERE.has_it:
        _LOCK.release()
