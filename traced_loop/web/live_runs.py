"""Runs that go on in this server's own process, begun from the page: what they have told so far, and their end.

Each runs in a thread that does not keep the process. What it has told is kept until so many later ones have ended, with
the own credentials of the process masked; what it needed to run is let go when it ends, its key among it.
"""

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from traced_loop.errors import TracedLoopError, UsageError, typed_words
from traced_loop.events import Event, RunStarted, TextDelta
from traced_loop.redaction.held_secrets import hold_secret
from traced_loop.run_result import RunResult, partial_result
from traced_loop.web.shown_values import shown, shown_so_far

MAX_AT_ONCE: Final = 4
"""Runs that go on at once; the next one is refused."""
END_SECONDS: Final = 1.0
"""How long the end of the server waits for the ends of its runs: their calls are answered, their spans ended."""
_KEPT: Final = 32
"""Runs that are known, ended ones included."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

Act = Callable[[Callable[[Event], None]], RunResult]
"""Begins a run that tells its events, and comes back when it has ended."""


class LiveRun:
    """One run of this process.

    Attributes:
        name: what its page is found by; no run id, since the run has none before it has begun.
        title: for people.
        asked: the fields of the form that began it, without the key; empty where none did.
        once: of the form that began it: sent twice, it begins one run; ``""`` where none did.
    """

    def __init__(
        self,
        title: str,
        cancel: Callable[[str], bool],
        *,
        asked: Mapping[str, str] = _NOTHING,
        once: str = "",
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing has been told yet.

        Args:
            title: for people.
            cancel: ends a run by its id.
            asked: the fields of the form that began it, without the key.
            once: of that form.
            let_go: called when it has ended and nothing more of it is masked.
        """
        self.name = secrets.token_urlsafe(9)
        self.title = title
        self.asked = asked
        self.once = once
        self._cancel: Callable[[str], bool] | None = cancel
        self._let_go = let_go
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._moment_ns = time.time_ns()
        self._writing: list[str] = []
        self._version = 0
        self._result: RunResult | None = None
        self._error: str | None = None
        self._wanted_end = False
        self._over = threading.Event()

    @property
    def address(self) -> str:
        """The path of its page."""
        return f"/lab/live/{self.name}"

    @property
    def version(self) -> int:
        """Another number each time something was told; 0 before that."""
        return self._version

    @property
    def events(self) -> Sequence[Event]:
        """What it has told so far; pieces of one text are one event."""
        with self._lock:
            return *self._events[:-1], *self._last()

    @property
    def moment_ns(self) -> int:
        """When it told something last, or was begun, in nanoseconds since 1970; pieces of one text are one thing."""
        return self._moment_ns

    @property
    def run_id(self) -> str | None:
        """Its id, once it has begun."""
        with self._lock:
            return next((event.run_id for event in self._events if isinstance(event, RunStarted)), None)

    @property
    def result(self) -> RunResult | None:
        """What came of it, once it has ended; also of one that an exception left."""
        return self._result

    @property
    def error(self) -> str | None:
        """Why it could not run to its end, in one sentence."""
        return self._error

    @property
    def is_going_on(self) -> bool:
        """Whether it has not ended yet."""
        return not self._over.is_set()

    @property
    def is_stopping(self) -> bool:
        """Whether somebody wanted it to end, and it has not."""
        return self._wanted_end and self.is_going_on

    @property
    def was_stopped(self) -> bool:
        """Whether somebody wanted it to end, whether or not it has."""
        return self._wanted_end

    def stop(self) -> None:
        """End it as soon as it can; a run that has not begun ends when it begins."""
        with self._lock:
            self._wanted_end = True
            self._version += 1
        run_id, cancel = self.run_id, self._cancel
        if run_id is not None and cancel is not None:
            cancel(run_id)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, for that long at most; whether it has ended."""
        return self._over.wait(seconds)

    def told(self, event: Event) -> None:
        """Take an event in; called by the run."""
        with self._lock:
            last = self._events[-1] if self._events else None
            if isinstance(event, TextDelta) and isinstance(last, TextDelta) and last.attempt == event.attempt:
                self._writing.append(event.text)
            else:
                self._events[-1:] = self._last()
                self._writing = [event.text] if isinstance(event, TextDelta) else []
                self._events.append(event if isinstance(event, TextDelta) else shown(event))
                self._moment_ns = time.time_ns()
            self._version += 1
        cancel = self._cancel
        if isinstance(event, RunStarted) and self._wanted_end and cancel is not None:
            cancel(event.run_id)

    def ended(self, result: RunResult | None, error: str | None) -> None:
        """Take its end in, and let go of what it needed to run."""
        with self._lock:
            self._events[-1:] = self._last()
            self._writing, self._cancel = [], None
            self._result, self._error = shown(result), None if error is None else shown(error)
            self._moment_ns = time.time_ns()
            self._version += 1
            self._let_go()
            self._over.set()

    def _last(self) -> list[Event]:
        """The last event with its text as far as it is written."""
        if not (self._writing and self._events):
            return self._events[-1:]
        last = self._events[-1]
        if not isinstance(last, TextDelta):
            return [last]
        return [TextDelta(step=last.step, text=shown_so_far("".join(self._writing)), attempt=last.attempt)]


class LiveRuns:
    """The runs of one server."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}
        self._lock = threading.Lock()

    def start(
        self,
        title: str,
        act: Act,
        cancel: Callable[[str], bool],
        *,
        asked: Mapping[str, str] = _NOTHING,
        once: str = "",
        secret: str | None = None,
    ) -> LiveRun:
        """Begin a run in a thread of its own.

        Args:
            title: for people.
            act: runs it.
            cancel: ends a run by its id, as ``Loop.cancel``.
            asked: the fields of the form that begins it, without the key.
            once: where a run has begun with the same text, that run is the answer: a button may be pressed twice.
            secret: a key that was typed for this run: masked while it goes on, also in the store, forgotten after it.

        Raises:
            UsageError: as many as may go on at once go on.
        """
        with self._lock:
            begun = next((each for each in self._runs.values() if once and each.once == once), None)
            if begun is not None:
                return begun
            if sum(each.is_going_on for each in self._runs.values()) >= MAX_AT_ONCE:
                raise UsageError(f"{MAX_AT_ONCE} runs of this page go on: stop one, or wait for its end")
            run = LiveRun(title, cancel, asked=asked, once=once, let_go=hold_secret(secret))
            self._runs[run.name] = run
            ended = [name for name, each in self._runs.items() if not each.is_going_on]
            for name in ended[: max(0, len(self._runs) - _KEPT)]:
                del self._runs[name]
        try:
            threading.Thread(target=_carry, args=(run, act), name=f"live-run-{run.name}", daemon=True).start()
        except RuntimeError as error:  # the system gives no thread; else it would go on for ever
            run.ended(None, _words(error))
        return run

    def find(self, name: str) -> LiveRun | None:
        """A run by its name, while it is known."""
        return self._runs.get(name)

    def going_on(self) -> list[LiveRun]:
        """Those that go on, the first one first."""
        return [run for run in list(self._runs.values()) if run.is_going_on]

    def stop_all(self, within: float = END_SECONDS) -> None:
        """End all that go on, and wait for their ends so many seconds at most in all."""
        going_on, ends = self.going_on(), time.monotonic() + within
        for run in going_on:
            run.stop()
        for run in going_on:
            run.wait(max(0.0, ends - time.monotonic()))


def _carry(run: LiveRun, act: Act) -> None:
    try:
        result = act(run.told)
    except BaseException as error:  # noqa: BLE001 - the page shows it; there is nobody else to tell
        run.ended(partial_result(error), _words(error))
    else:
        run.ended(result, None)


def _words(error: BaseException) -> str:
    """Its own words; nothing of it is kept, since its frames hold what the run was made of."""
    text = typed_words(error)
    return text if isinstance(error, TracedLoopError) and text else f"{type(error).__name__}: {text}".removesuffix(": ")
