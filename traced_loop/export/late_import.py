"""An exporter's libraries, which are slow to import: no run waits for them, and no span for want of them.

They are imported a second after it is known that they are wanted, when a run waits for its model; before, where
something is sent before; and before the time begins that the end of a process takes at most.
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from traced_loop.export.quiet_exporters import hear_new_loggers
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.fork_waits import forks_wait

IDLE_SECONDS: Final = 1.0
"""Until they are imported for no other reason."""

Imported = TypeVar("Imported")


class LateImport(Generic[Imported]):
    """What a function imports, once, in whichever thread needs it first."""

    def __init__(self, load: Callable[[], Imported]) -> None:
        """Import nothing yet. What ``load`` raises is raised where it is needed, each time."""
        self._load = load
        self._lock = ForkSafeLock()
        self._loaded: list[Imported] = []
        self._idle = threading.Event()
        _WANTED.add(self)
        threading.Thread(target=self._when_idle, name="traced-loop-import", daemon=True).start()

    def get(self) -> Imported:
        """What it imported; from then on, what the libraries log is heard."""
        with self._lock:
            if not self._loaded:
                self._idle.set()
                with forks_wait():
                    loaded = self._load()
                hear_new_loggers()
                self._loaded.append(loaded)
            return self._loaded[0]

    def _when_idle(self) -> None:
        if not self._idle.wait(IDLE_SECONDS):
            with suppress(Exception):  # it is said where it is needed
                self.get()


def finish_imports() -> None:
    """Import now whatever is wanted and not there yet."""
    for wanted in list(_WANTED):
        with suppress(Exception):  # it is said where it is needed
            wanted.get()


_WANTED: Final[weakref.WeakSet[LateImport[Any]]] = weakref.WeakSet()
