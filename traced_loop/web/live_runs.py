"""Runs that go on in this server's own process, begun from the page: what they have told so far, and their end.

Each runs in a thread that does not keep the process. What it has told is kept until so many later ones have ended.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Final

from traced_loop.errors import UsageError
from traced_loop.events import Event, RunStarted, TextDelta
from traced_loop.run_result import RunResult, partial_result

MAX_AT_ONCE: Final = 4
"""Runs that go on at once; the next one is refused."""
_KEPT: Final = 32
"""Runs that are known, ended ones included."""

Act = Callable[[Callable[[Event], None]], RunResult]
"""Begins a run that tells its events, and comes back when it has ended."""


class LiveRun:
    """One run of this process.

    Attributes:
        name: what its page is found by; no run id, since the run has none before it has begun.
        title: for people.
    """

    def __init__(self, title: str, cancel: Callable[[str], bool]) -> None:
        self.name = secrets.token_urlsafe(9)
        self.title = title
        self._cancel = cancel
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._version = 0
        self._result: RunResult | None = None
        self._error: BaseException | None = None
        self._wanted_end = False

    @property
    def version(self) -> int:
        """Another number each time something was told; 0 before that."""
        return self._version

    @property
    def events(self) -> Sequence[Event]:
        """What it has told so far; pieces of one text are one event."""
        with self._lock:
            return tuple(self._events)

    @property
    def run_id(self) -> str | None:
        """Its id, once it has begun."""
        return next((event.run_id for event in self.events if isinstance(event, RunStarted)), None)

    @property
    def result(self) -> RunResult | None:
        """What came of it, once it has ended."""
        return self._result

    @property
    def error(self) -> BaseException | None:
        """Why it could not run to its end."""
        return self._error

    @property
    def is_going_on(self) -> bool:
        """Whether it has not ended yet."""
        return self._result is None and self._error is None

    def stop(self) -> None:
        """End it as soon as it can; a run that has not begun ends when it begins."""
        self._wanted_end = True
        run_id = self.run_id
        if run_id is not None:
            self._cancel(run_id)

    def told(self, event: Event) -> None:
        """Take an event in; called by the run."""
        with self._lock:
            last = self._events[-1] if self._events else None
            if isinstance(event, TextDelta) and isinstance(last, TextDelta) and last.attempt == event.attempt:
                self._events[-1] = TextDelta(step=event.step, text=last.text + event.text, attempt=event.attempt)
            else:
                self._events.append(event)
            self._version += 1
        if isinstance(event, RunStarted) and self._wanted_end:
            self._cancel(event.run_id)

    def ended(self, result: RunResult | None, error: BaseException | None) -> None:
        """Take its end in."""
        with self._lock:
            self._result, self._error = result, error
            self._version += 1


class LiveRuns:
    """The runs of one server."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}
        self._lock = threading.Lock()

    def start(self, title: str, act: Act, cancel: Callable[[str], bool]) -> LiveRun:
        """Begin a run in a thread of its own.

        Args:
            title: for people.
            act: runs it.
            cancel: ends a run by its id, as ``Loop.cancel``.

        Raises:
            UsageError: as many as may go on at once go on.
        """
        run = LiveRun(title, cancel)
        with self._lock:
            if sum(each.is_going_on for each in self._runs.values()) >= MAX_AT_ONCE:
                raise UsageError(f"{MAX_AT_ONCE} runs of this page go on: stop one, or wait for its end")
            self._runs[run.name] = run
            ended = [name for name, each in self._runs.items() if not each.is_going_on]
            for name in ended[: max(0, len(self._runs) - _KEPT)]:
                del self._runs[name]
        threading.Thread(target=_carry, args=(run, act), name=f"live-run-{run.name}", daemon=True).start()
        return run

    def find(self, name: str) -> LiveRun | None:
        """A run by its name, while it is known."""
        return self._runs.get(name)

    def stop_all(self) -> None:
        """End all that go on."""
        for run in list(self._runs.values()):
            if run.is_going_on:
                run.stop()


def _carry(run: LiveRun, act: Act) -> None:
    try:
        result = act(run.told)
    except BaseException as error:  # noqa: BLE001 - the page shows it; there is nobody else to tell
        run.ended(partial_result(error), error)
    else:
        run.ended(result, None)
