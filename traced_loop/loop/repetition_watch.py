"""What is done about a run that repeats itself: each step is shown to the detector, and its verdict carried out."""

from collections.abc import Callable
from typing import Any

from traced_loop import names
from traced_loop.events import Event, RepetitionSeen
from traced_loop.loop.batch import Batch
from traced_loop.loop.run_state import RunState
from traced_loop.loop.validator import RefusedCall
from traced_loop.messages import Message
from traced_loop.outcomes import StopReason
from traced_loop.rules.nudge import nudge
from traced_loop.rules.seen_call import SeenCall, seen_call, was_undone


class RepetitionWatch:
    """Watches the runs of one loop; what it knows of a run is in the run's state."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit

    def step(self, state: RunState, batch: Batch) -> Message | None:
        """Take the calls of a step that have all ended.

        The run is stopped where the rules say so, unless something that ranks above it has.

        Returns:
            What the model is to be told after the results, or None.
        """
        calls = self._seen(state, batch)
        state.step_found = found = state.detector.step(calls, number=state.steps)
        state.repeated += found.found
        for each in found.found:
            self._emit(RepetitionSeen(step=state.steps, repetition=each))
        gravest = found.gravest
        if gravest is None or gravest.reaction == "observe":
            return None
        if gravest.reaction == "stop":
            call = next(call for call in calls if call.index == gravest.at)
            detail = f"{gravest.told()}; the limit is {gravest.threshold} (call {call.call})"
            state.stop_for(StopReason.REPETITION_DETECTED, detail)
        # A run that ends, whatever for, asks nothing more.
        return nudge(gravest) if state.stop is None else None

    def _seen(self, state: RunState, batch: Batch) -> list[SeenCall]:
        found: list[SeenCall] = []
        for position in range(len(batch.results)):
            stood = batch.stood(position)
            if stood is not None:  # its span is known by its index
                found.append(stood)
                continue
            span = batch.spans.get(position)
            attributes = span.record.attributes if span is not None else _shown(batch, position)
            seen = seen_call(attributes, len(state.call_spans))
            found.append(was_undone(seen) if batch.results[position].undone else seen)
            state.call_spans.append(span.id if span is not None else None)
        return found


def _shown(batch: Batch, position: int) -> dict[str, Any]:
    """What stands on the span of a call that did not run."""
    verdict, _, result = batch.decided(position)
    if isinstance(verdict, RefusedCall):
        return dict(verdict.marks)
    outcome = None if result is None else result.outcome
    return {names.CALL_TOOL: verdict.tool.name, **verdict.marks, names.CALL_OUTCOME: outcome}
