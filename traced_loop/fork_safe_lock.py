"""A lock that a forked child finds open, whatever another thread was doing when the process forked."""

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Final


class ForkSafeLock:
    """A ``threading.Lock`` for ``with``; in a forked child it is a new one.

    What it guards must be whole at every moment, or rebuilt in the child: the child does not wait for a thread that it
    does not have.
    """

    def __init__(self, in_child: Callable[[], None] | None = None) -> None:
        """An open lock.

        Args:
            in_child: makes what it guards ready for the child, which has one thread by then; must not hold its owner.
        """
        self._lock = threading.Lock()
        self._in_child = in_child
        _LOCKS.add(self)
        if not _HOOKED.is_set():
            _HOOKED.set()
            os.register_at_fork(after_in_child=_renew_all)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lock.locked():  # open already in a child that was forked inside the block
            self._lock.release()

    def renew(self) -> None:
        """Open it for the child. Called by the interpreter."""
        self._lock = threading.Lock()
        if self._in_child is not None:
            self._in_child()


_LOCKS: Final[weakref.WeakSet[ForkSafeLock]] = weakref.WeakSet()
_HOOKED: Final = threading.Event()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()
