"""What becomes of a tool that still ran when nobody waited for it any more: named while it runs, shown when it ends.

Opens a ``traced_loop.late_completion`` span per tool that was left behind and ended, also after the run has.
"""

import asyncio
from contextlib import suppress

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.call_end import cancelled_outcome, outcome_of, shown_type
from traced_loop.loop.error_words import words_of
from traced_loop.loop.running_work import RunningWork
from traced_loop.loop.validator import ValidCall
from traced_loop.outcomes import Effect, Outcome
from traced_loop.telemetry.spans import Span, Telemetry


@frozen_value
class LeftBehind:
    """A tool that was left behind."""

    tool: str
    work: RunningWork


def late_outcome(error: BaseException | None, effect: Effect) -> Outcome:
    """How a call ended for which nobody waited any more."""
    if error is None:
        return Outcome.OK
    return cancelled_outcome(effect) if isinstance(error, asyncio.CancelledError) else outcome_of(error, effect)


class LateEnds:
    """Waits for the ends of one loop's tools that were left behind; nobody waits for it."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def leave(self, valid: ValidCall, work: RunningWork, execution: Span) -> LeftBehind:
        """Nobody waits for a call's work any more; to be called inside of its run.

        Args:
            valid: the call, or the compensation of one.
            work: what goes on.
            execution: the call's span.
        """
        effect = valid.tool.effect
        attributes = {
            valid.id_key: valid.call.id,
            names.CALL_TOOL: valid.tool.name,
            names.EXECUTION_ID: execution.record.attributes.get(names.EXECUTION_ID),
            names.EFFECT: effect,
        }
        later = self._telemetry.later(names.LATE_COMPLETION, attributes, links=(execution.id,))

        def ended(error: BaseException | None) -> None:
            with suppress(Exception), later.opened() as span:  # in the tool's own thread: nobody is there to be told
                outcome = late_outcome(error, effect)
                span.set({names.LATE_SECONDS: later.seconds(), names.LATE_OUTCOME: outcome})
                if error is not None and outcome is not Outcome.INVALID:
                    span.fail(shown_type(error, words_of(error)), f"tool ended late: {outcome}")

        work.when_over(ended)
        return LeftBehind(tool=valid.tool.name, work=work)
