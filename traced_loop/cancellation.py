"""The signal that a tool's time is over, for tools that can end early.

A parameter of a tool whose type is ``Cancellation`` is filled in by the loop, and hidden from the model.
"""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import subprocess

INTERRUPT: Final = "Ctrl-C"
TERMINATE: Final = "SIGTERM"
CANCEL: Final = "Loop.cancel"


def signal_word(error: BaseException) -> str | None:
    """Which signal or call ended a run, where the exception that it became says it; no text of anybody else's.

    ``KeyboardInterrupt`` is Ctrl-C, unless it was raised with the other word. A task is cancelled with the word.
    """
    said: object = error.args[0] if len(error.args) == 1 else None
    if said in (INTERRUPT, TERMINATE, CANCEL):
        return str(said)
    return INTERRUPT if isinstance(error, KeyboardInterrupt) and not error.args else None


class Cancellation:
    """Set once, when nobody waits for the tool any more: at its timeout, at the run's deadline, or on cancellation.

    What the tool gives within half a second after it still counts, and ``NotApplied`` of a write does too; any other
    error then is the timeout's or the cancellation's.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._acts: list[Callable[[], object]] = []

    @property
    def is_set(self) -> bool:
        """Whether the tool should end."""
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is set, for that long at most; whether it is. Instead of ``time.sleep``."""
        return self._event.wait(seconds)

    def when_set(self, act: Callable[[], object]) -> None:
        """Call this once when it is set, at once if it is already: to close what the tool waits for.

        It runs on the thread that cancels, so it must be quick; what it raises is dropped.
        """
        with self._lock:
            if not self._event.is_set():
                self._acts.append(act)
                return
        _dare(act)

    def ends(self, process: "subprocess.Popen[Any]") -> None:
        """Kill that process when it is set, with all its children if it was started with ``start_new_session=True``."""
        self.when_set(lambda: _kill(process))

    def set(self) -> None:
        """Tell the tool; called by the loop. Setting it twice is fine."""
        with self._lock:
            self._event.set()
            acts, self._acts = self._acts, []
        for act in acts:
            _dare(act)


def _dare(act: Callable[[], object]) -> None:
    with suppress(Exception):
        act()


def _kill(process: "subprocess.Popen[Any]") -> None:
    if process.poll() is not None:
        return
    if os.getpgid(process.pid) == process.pid:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
