"""A lock on a file is held by one process, as long as that lives, and not by the children that it forks."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from traced_loop.records.file_locks import locked

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


def test_one_at_a_time(tmp_path: Path) -> None:
    """Free again behind the block; what is not there cannot be locked."""
    path = tmp_path / "f"
    path.touch()
    with locked(path) as first, locked(path) as second:
        assert (first, second) == (True, False)
    with locked(path) as third, locked(tmp_path / "none") as missing:
        assert (third, missing) == (True, False)


@contextmanager
def waiting_child(path: Path, *, locks: bool) -> Generator[int]:
    """A forked child that waits to be killed, once it is there; it holds the lock itself, or its parent does."""
    ready, tell = os.pipe()
    pid = os.fork()
    if not pid:
        with locked(path) if locks else nullcontext():
            os.write(tell, b"x")
            signal.pause()
        os._exit(0)
    os.read(ready, 1)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """However that ends; ``wait`` waits for it."""
    path = tmp_path / "f"
    path.touch()
    with waiting_child(path, locks=True) as child:
        with locked(path) as held:
            assert not held
        os.kill(child, signal.SIGKILL)
        with locked(path, wait=True) as held:
            assert held


def test_a_forked_child_does_not_hold_its_parents_lock(tmp_path: Path) -> None:
    """It would keep it for as long as it lives."""
    path = tmp_path / "f"
    path.touch()
    with ExitStack() as stack:
        with locked(path):
            stack.enter_context(waiting_child(path, locks=False))
        with locked(path) as held:
            assert held


def test_a_child_that_leaves_the_block_closes_nothing_of_its_own(tmp_path: Path) -> None:
    """Its parent's descriptor is not its own any more."""
    path = tmp_path / "f"
    path.touch()
    with locked(path):
        pid = os.fork()
        other = os.open(path, os.O_RDONLY) if not pid else -1
    if not pid:
        os._exit(0 if os.fstat(other).st_size == 0 else 1)
    assert os.waitpid(pid, 0)[1] == 0
