"""The tries of one tool call: how often, how patiently, inside the call's time, and visible.

Opens a ``traced_loop.attempt`` span per try when there was more than one. Only a read is tried again, and only after an
error that the same call may not meet again.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from traced_loop import names
from traced_loop.loop.bounded_wait import TimedOut
from traced_loop.loop.call_end import TIMEOUT, outcome_of, shown_type
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.error_words import ErrorWords, words_of
from traced_loop.loop.handler_run import Given, HandlerRun, is_cancelled
from traced_loop.outcomes import Outcome
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.spans import Telemetry
from traced_loop.tool_registry import ToolDefinition

if TYPE_CHECKING:
    from traced_loop.loop.running_work import RunningWork

FIRST_DELAY: Final = 0.1
"""Seconds before the second try at most; doubled each time."""
MAX_DELAY: Final = 2.0
"""Seconds between two tries at most."""


class ToolAttempts:
    """The tries of one call."""

    def __init__(
        self,
        tool: ToolDefinition,
        arguments: Mapping[str, Any],
        telemetry: Telemetry,
        *,
        threads: DaemonThreads,
        clock: Clock,
        execution_id: str,
        new_id: Callable[[], str],
        on_failed: Callable[[int, str, float], None],
    ) -> None:
        """Nothing is started yet.

        Args:
            tool: what is called.
            arguments: of its handler.
            telemetry: where tries are shown.
            threads: where it runs when it is synchronous.
            clock: the run's.
            execution_id: the call's, from which the jitter of the delays is made.
            new_id: gives the execution id of a try.
            on_failed: told the number of a try that failed, its error type and the seconds until the next.
        """
        self._tool = tool
        self._arguments = arguments
        self._telemetry = telemetry
        self._threads = threads
        self._clock = clock
        self._new_id = new_id
        self._on_failed = on_failed
        self._execution_id = execution_id
        self._jitter: random.Random | None = None
        """Made when the first try has failed: to make one costs as much as to start a task."""
        self._tries = 0
        self.work: RunningWork | None = None
        """The latest try, which may go on when nobody waits any more; None before the first."""

    async def outcome(self, seconds: float, *, begun: int) -> Given:
        """What the last try gave or raised.

        Args:
            seconds: for all tries together, and the waits between them.
            begun: the first try's start, in nanoseconds since 1970.

        Raises:
            TimedOut: the time was over.
            CancelledError: the run was cancelled.
        """
        ends = self._clock.seconds() + seconds
        given, error = await self._try(seconds)
        delay = self._delay_after(error, ends)
        if error is None or delay is None:
            return given, error
        with self._telemetry.span(names.ATTEMPT, self._start(1, 0), brief=True, start_ns=begun) as span:
            span.fail(*_failure(error))
        while error is not None and delay is not None:
            self._on_failed(self._tries, _failure(error)[0], delay)
            await asyncio.sleep(delay)
            given, error = await self._traced_try(ends - self._clock.seconds(), delay)
            delay = self._delay_after(error, ends)
        return given, error

    async def _try(self, seconds: float) -> Given:
        self._tries += 1
        run = HandlerRun(self._tool, self._arguments, self._threads)
        self.work = run.work
        try:
            return await run.within(seconds)
        except TimedOut:
            raise
        except BaseException as broken:
            if is_cancelled():
                raise
            return None, broken  # the tool cancelled its own task, or gave a value that cannot be read

    async def _traced_try(self, seconds: float, delay: float) -> Given:
        with self._telemetry.span(names.ATTEMPT, self._start(self._tries + 1, delay)) as span:
            try:
                given, error = await self._try(seconds)
            except TimedOut:
                span.fail(TIMEOUT, "tool try timed out")
                raise
            if error is not None:
                span.fail(*_failure(error))
        return given, error

    def _delay_after(self, error: BaseException | None, ends: float) -> float | None:
        """Seconds to wait before the next try; None where there is none."""
        if error is None or self._tries > self._tool.retries:
            return None
        words = words_of(error)
        if not words.transient or words.leaves is not None or outcome_of(error, self._tool.effect) is not Outcome.ERROR:
            return None
        if self._jitter is None:
            self._jitter = random.Random(self._execution_id)  # noqa: S311 - jitter, not a secret
        doubled = min(MAX_DELAY, FIRST_DELAY * float(2 ** (self._tries - 1)))
        delay = doubled * (0.75 + self._jitter.random() / 4)
        return delay if self._clock.seconds() + delay < ends else None

    def _start(self, number: int, delay: float) -> dict[str, Any]:
        return {
            names.ATTEMPT_NUMBER: number,
            names.ATTEMPT_KIND: "tool",
            names.ATTEMPT_DELAY_MS: round(delay * 1000),
            names.EXECUTION_ID: self._new_id(),
        }


def _failure(error: BaseException) -> tuple[str, str]:
    """``error.type`` and the status of a failed try."""
    words: ErrorWords = words_of(error)
    shown = shown_type(error, words)
    return shown, f"tool try failed: {shown}"
