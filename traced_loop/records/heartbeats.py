"""Says again and again that this process is there while it holds anything; one quiet thread, and none otherwise."""

import threading
from collections.abc import Callable, Hashable
from contextlib import suppress

from traced_loop.fork_safe_lock import ForkSafeLock


class Heartbeats:
    """Counts what is held, and beats while that is anything. Any thread may use it; a forked child holds nothing."""

    def __init__(self, beat: Callable[[], None], every: float) -> None:
        """Nothing is held, and no thread runs.

        Args:
            beat: what to do; what it raises is nobody's business: whoever reads the last beat sees that it is old.
            every: seconds between two.
        """
        self._beat = beat
        self._every = every
        self._held: set[Hashable] = set()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._lock = ForkSafeLock(in_child=self._nothing_held)

    def hold(self, name: Hashable) -> None:
        """Something is held from now on."""
        with self._lock:
            self._held.add(name)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="traced-loop-lease", daemon=True)
                with suppress(RuntimeError):  # no thread to be had, or the interpreter ends: the lease runs out
                    self._thread.start()

    def release(self, name: Hashable) -> None:
        """It is held no more; the thread ends by itself, since the next one may come soon."""
        with self._lock:
            self._held.discard(name)

    def _run(self) -> None:
        while not self._over.wait(self._every):
            with self._lock:
                if not self._held:
                    self._thread = None
                    return
            with suppress(Exception):
                self._beat()

    def _nothing_held(self) -> None:
        self._held, self._thread, self._over = set(), None, threading.Event()
