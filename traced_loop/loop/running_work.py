"""One try of a handler as long as anything of it goes on: in its task, in its thread, whoever waits or does not."""

import threading
from collections.abc import Callable

Told = Callable[[BaseException | None], None]
"""Called once with what the work raised at its end, or None."""


class RunningWork:
    """Counts the parts that run, and tells when the last has ended; any thread may begin and end one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts = 0
        self._over = False
        self._error: BaseException | None = None
        self._told: list[Told] = []
        self.value: object = None
        """What the part that ended last gave, where it gave anything."""

    @property
    def over(self) -> bool:
        """Whether it began and nothing of it runs any more."""
        return self._over

    def begin(self) -> None:
        """A part starts; to be called before it can end."""
        with self._lock:
            self._parts += 1

    def end(self, error: BaseException | None, value: object = None) -> None:
        """A part has ended with what it raised or gave, and so has the work when it was the last one."""
        with self._lock:
            self.value = value
            self._parts -= 1
            if self._parts:
                return
            self._over, self._error = True, error
            told, self._told = self._told, []
        for tell in told:
            tell(error)

    def when_over(self, tell: Told) -> None:
        """Tell of the end, in the thread in which it comes; at once where it has come."""
        with self._lock:
            if not self._over:
                self._told.append(tell)
                return
        tell(self._error)
