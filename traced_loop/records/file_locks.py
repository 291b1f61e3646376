"""Locks on files that end with the process that holds them, and that a forked child does not hold."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Generator[bool]:
    """Hold the lock of a file for the time of the block; what is given is whether it is held.

    Not held: somebody else has it (unless ``wait``), or there is no such file. Whoever only appends needs no lock.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    _held.add(descriptor)
    _hook()
    try:
        yield _taken(descriptor, wait=wait)
    finally:
        if descriptor in _held:  # else this is a forked child, which let go of it
            _held.discard(descriptor)
            os.close(descriptor)


def _taken(descriptor: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _hook() -> None:
    if not _hooked:
        _hooked.append(True)
        os.register_at_fork(after_in_child=_let_go)


def _let_go() -> None:
    """A child shares what its parent has open, and would hold the lock for as long as it lives."""
    while _held:
        with suppress(OSError):
            os.close(_held.pop())


_held: Final[set[int]] = set()
_hooked: Final[list[bool]] = []
