"""What one server knows of confirmations: what waits, what can go on here, and which forms were answered already."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from traced_loop.errors import TracedLoopError, typed_words
from traced_loop.events import Event
from traced_loop.frozen_value import frozen_value
from traced_loop.public_loop import Loop
from traced_loop.redaction.held_secrets import hold_secret
from traced_loop.run_result import RunResult
from traced_loop.waiting_calls import WaitingRun
from traced_loop.web.approved_form import Answers, BoundForms
from traced_loop.web.live_runs import LiveRun, LiveRuns
from traced_loop.web.loops_of_page import LoopsOfPage, go_on
from traced_loop.web.pending_calls import PendingCalls

BEGIN_SECONDS: Final = 15.0
"""How long an answer waits to hear that its run has begun, or why it has not."""
_KEPT: Final = 256
"""Answered forms that are remembered."""


@frozen_value
class Refused:
    """Why an answer was not taken; nothing was done by it. ``reason`` is a sentence in English."""

    reason: str


class Confirmations:
    """The confirmations of one server."""

    def __init__(self, folder: Path, loops: LoopsOfPage | None = None) -> None:
        """Nothing is read yet.

        Args:
            folder: of the store.
            loops: what can go on here; None for nothing.
        """
        self.pending = PendingCalls(folder)
        self.loops = loops
        self.forms = BoundForms()
        self._answered: dict[str, None] = {}
        self._lock = threading.Lock()

    @property
    def tools_version(self) -> str:
        """Digest of the tools that this server would run; ``""`` for none."""
        return "" if self.loops is None else self.loops.tools.version

    def take(self, digest: str) -> bool:
        """Take a form as answered; False for one that was answered before."""
        with self._lock:
            if digest in self._answered:
                return False
            self._answered[digest] = None
            for old in list(self._answered)[:-_KEPT]:
                del self._answered[old]
            return True

    def give_back(self, digest: str) -> None:
        """A form by which nothing was done can be answered again."""
        with self._lock:
            self._answered.pop(digest, None)

    def answer(self, run: WaitingRun, answers: Answers, live: LiveRuns, key: str = "") -> LiveRun | Refused:
        """Let a run go on in a thread of its own, and wait until it has begun.

        Args:
            run: as it was shown.
            answers: what was said of its calls.
            live: the runs of this process.
            key: that was typed for this one going on, and is forgotten at its end; ``""`` for that of the environment.

        Raises:
            UsageError: there is no model or key, or too many runs go on.
        """
        if self.loops is None:
            return Refused(reason="nothing can go on here")
        let_go = hold_secret(key)  # before the loop is made, which would else keep it as the process's own
        try:
            return self._begun(self.loops.loop(key), run, answers, live, key)
        finally:
            let_go()

    def _begun(self, loop: Loop, run: WaitingRun, answers: Answers, live: LiveRuns, key: str) -> LiveRun | Refused:
        beginning = _Beginning()

        def act(tell: Callable[[Event], None]) -> RunResult:
            with beginning:
                return go_on(loop, run, answers.said, by=answers.by, tell=beginning.telling(tell))

        carried = live.start(run.run_id, act, loop.cancel, secret=key)
        beginning.known.wait(BEGIN_SECONDS)
        return carried if beginning.error is None else Refused(reason=typed_words(beginning.error))


@dataclass(slots=True)
class _Beginning:
    """Whether a run has begun, or why it could not; what goes wrong later is the run's own."""

    known: threading.Event = field(default_factory=threading.Event)
    error: TracedLoopError | None = None

    def telling(self, tell: Callable[[Event], None]) -> Callable[[Event], None]:
        def told(event: Event) -> None:
            tell(event)
            self.known.set()

        return told

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, TracedLoopError) and not self.known.is_set():
            self.error = error
        self.known.set()
