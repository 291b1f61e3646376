"""What holds an SQLite file open is told about forks: SQLite's state must not cross one."""

import os
import threading
import weakref
from typing import Final, Protocol


class Forked(Protocol):
    """Told by the interpreter, in the thread that forks."""

    def before_fork(self) -> None:
        """Let go of the file and let nobody open it."""
        ...

    def after_fork(self) -> None:
        """Go on, in the parent and in the child."""
        ...


_stores: Final[weakref.WeakSet[Forked]] = weakref.WeakSet()
_forking: Final[list[Forked]] = []


def at_forks(store: Forked) -> None:
    """Have a store told about forks."""
    _stores.add(store)
    if not _hooked.is_set():
        _hooked.set()
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


_hooked: Final = threading.Event()


_fork_lock: Final = threading.Lock()
"""Held from before a fork until after it: two threads may fork at the same time."""


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking[:] = list(_stores)
    for store in _forking:
        store.before_fork()


def _after_fork() -> None:
    for store in _forking:
        store.after_fork()
    _forking.clear()
    _fork_lock.release()
