"""The calls that a resumed run takes up: they go the same way as those of a new answer, in a step without a request."""

from collections.abc import Callable, Sequence

from traced_loop import names
from traced_loop.events import CallFinished, Event, StepStarted
from traced_loop.loop.batch import Batch, BatchParts
from traced_loop.loop.budget_checks import BudgetChecks
from traced_loop.loop.continued_run import OpenStep
from traced_loop.loop.repetition_watch import RepetitionWatch
from traced_loop.loop.run_state import RunState
from traced_loop.messages import ToolResult
from traced_loop.outcomes import Outcome
from traced_loop.rules.budget import NOTHING
from traced_loop.telemetry.spans import Telemetry
from traced_loop.told import error_result


class ResumedStep:
    """Takes up the calls of a run's last answer; their results come into the place of those that do not stand."""

    def __init__(
        self,
        parts: BatchParts,
        checks: BudgetChecks,
        watch: RepetitionWatch,
        telemetry: Telemetry,
        emit: Callable[[Event], None],
    ) -> None:
        self._parts = parts
        self._checks = checks
        self._watch = watch
        self._telemetry = telemetry
        self._emit = emit

    async def run(self, state: RunState, step: OpenStep) -> None:
        """Answer every call of the step.

        Raises:
            BaseException: as for the calls of a new answer; they are answered all the same.
        """
        self._emit(StepStarted(step=state.steps))
        state.before, state.reserved = state.usage(), NOTHING
        start = {names.STEP_INDEX: state.steps, names.STEP_RESUMED: True, names.STEP_OUTCOME: "stopped"}
        with self._telemetry.span(names.STEP, start) as span:
            if step.is_suspect:
                self._refuse_all(state, step)
            else:
                await self._run_batch(state, step)
            state.calls_seen.end_step()
            self._checks.step(state)
            span.set({names.STEP_OUTCOME: "stopped" if state.stop is not None else "calls_handled"})

    async def _run_batch(self, state: RunState, step: OpenStep) -> None:
        batch = Batch(self._parts, state, step.calls, lambda: self._checks.seconds_left(state), self._emit, step)
        nudge = None
        try:
            batch.validate()
            await batch.authorize()
            ids = [call.id for n, call in enumerate(step.calls) if n not in step.kept]
            if state.stop is None and not self._checks.batch(state, batch.open_calls, batch.seconds, ids):
                batch.skip_rest(Outcome.SKIPPED_BUDGET, state.stop_detail)
            await batch.execute()
            nudge = self._watch.step(state, batch)
        finally:
            batch.answer_the_rest()
            state.history.replace_results(step.first, batch.results, batch.new_results, nudge)
            _count_messages(state, batch.new_results)
        if state.leaving is not None:
            raise state.leaving

    def _refuse_all(self, state: RunState, step: OpenStep) -> None:
        """Answer calls of an answer that must not be trusted, as it would have been when it came."""
        said = "Not run: the answer with it was not whole, or came when no tool was to run any more."
        results: list[ToolResult] = []
        for place, call in enumerate(step.calls):
            kept = step.kept.get(place)
            if kept is None:
                self._parts.validator.skip(call, Outcome.SKIPPED_STOP)
            results.append(kept or error_result(call, Outcome.SKIPPED_STOP, said))
        new = [result for place, result in enumerate(results) if place not in step.kept]
        state.history.replace_results(step.first, results, new)
        _count_messages(state, new)
        for result in new:
            self._emit(CallFinished(step=state.steps, result=result))


def _count_messages(state: RunState, results: Sequence[ToolResult]) -> None:
    state.added([result.message() for result in results])
