"""The loop: the only part that decides what is next. It orders the other parts and bypasses none of them."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from traced_loop import names
from traced_loop.argument_text import sendable_text
from traced_loop.cancellation import signal_word
from traced_loop.closed_words import StepOutcome
from traced_loop.engine import LAST_REQUEST_STEP, model_step
from traced_loop.events import CallFinished, Event, ModelAnswered, RunEnded, RunStarted, StepStarted
from traced_loop.loop.admission import Admission, Expected
from traced_loop.loop.batch import Batch, BatchParts
from traced_loop.loop.budget_checks import BudgetChecks
from traced_loop.loop.continued_run import Continued
from traced_loop.loop.guarded_ledger import LedgerFailed
from traced_loop.loop.history import History, TranscriptWriter
from traced_loop.loop.model_client import Bounds, ModelClient, Response
from traced_loop.loop.repetition_watch import RepetitionWatch
from traced_loop.loop.resumed_step import ResumedStep
from traced_loop.loop.root_span import RunSettings, final_attributes, result_of, start_attributes
from traced_loop.loop.run_state import RunState
from traced_loop.loop.task import RequestOptions, Task
from traced_loop.messages import ModelRequest, ToolCall, ToolResult
from traced_loop.outcomes import LAST_REQUEST_STOPS, ORDERLY_STOPS, Outcome, StopReason
from traced_loop.rules.budget import STOP_OF
from traced_loop.rules.pairing import says_something
from traced_loop.rules.repetition_detector import RepetitionDetector
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.run_result import RunResult, attach_result
from traced_loop.telemetry.spans import RunScope, Span, Telemetry
from traced_loop.telemetry.type_names import type_name
from traced_loop.told import error_result


class LoopController:
    """Runs tasks, one state each; holds nothing of a run itself."""

    def __init__(
        self,
        settings: RunSettings,
        options: RequestOptions,
        *,
        telemetry: Telemetry,
        client: ModelClient,
        parts: BatchParts,
        transcript: TranscriptWriter | None,
        on_event: Callable[[Event], None] | None,
    ) -> None:
        self._settings = settings
        self._options = options
        self._telemetry = telemetry
        self._client = client
        self._parts = parts
        self._transcript = transcript
        self._emit: Callable[[Event], None] = on_event or (lambda _event: None)
        self._checks = BudgetChecks(settings.budget, telemetry, self._emit)
        self._watch = RepetitionWatch(self._emit)
        self._resumed = ResumedStep(parts, self._checks, self._watch, telemetry, self._emit)

    async def run(self, task: Task) -> RunResult:
        """Run a task to its stop reason.

        Raises:
            BaseException: cancellation, Ctrl-C, or what a callback or the model object raised; what the run had
                reached hangs on it (``partial_result``).
        """
        scope = self._telemetry.scope(task.run_id, self._settings.wanted(task.content))
        name = f"{names.INVOKE_AGENT} {self._settings.agent}"
        root = self._telemetry.run(
            scope,
            name,
            start_attributes(self._settings, task.session_id, task.continued),
            links=() if task.continued is None else task.continued.links,
        )
        state = self._state(task, scope)
        try:
            with root:
                if root.content is not None:
                    root.content.task(task.messages)
                try:
                    self._emit(
                        RunStarted(run_id=task.run_id, trace_id=f"{root.id[0]:032x}", model=self._settings.model)
                    )
                    self._recall(state, task)
                    if task.continued is not None:
                        await self._go_on(state, task.continued)
                    while state.stop is None:
                        await self._step(state)
                    await self._ask_last(state)
                except BaseException as error:
                    _stopped_by(error, state)
                    root.fail(type_name(error), state.stop_detail)
                    raise
                finally:
                    self._end(state, root)
            result = result_of(state, root, self._settings)
            self._emit(RunEnded(result=result))
        except BaseException as error:
            with suppress(Exception):  # what left the run is the error, whatever its result lacks
                attach_result(error, result_of(state, root, self._settings))
            raise
        return result

    def _end(self, state: RunState, root: Span) -> None:
        """What the root carries at the end. Whatever fails here, it has a stop reason."""
        try:
            self._checks.close(state)
            self._parts.claims.ledger.end_run(state.run_id)
            state.show_decisions()
            root.set(final_attributes(state, self._settings.budget))
        except BaseException as error:
            _stopped_by(error, state)
            root.set({names.RUN_STOP_REASON: state.stop, names.RUN_STOP_DETAIL: state.stop_detail})
            root.fail(type_name(error), state.stop_detail)
            raise
        if root.content is not None:
            root.content.outcome(*state.said())
        if state.stop not in ORDERLY_STOPS and not root.record.error:
            root.fail(str(state.stop), state.stop_detail)

    def _recall(self, state: RunState, task: Task) -> None:
        try:
            self._parts.claims.recall(task.messages, task.run_id)
        except LedgerFailed as failed:  # or a write that may have happened could be run again
            said = f"the ledger of writes failed ({failed}), and the history has writes of which nobody knows"
            state.stop_for(StopReason.HARNESS_ERROR, said)

    async def _go_on(self, state: RunState, continued: Continued) -> None:
        """Do what is left of a resumed run's last step, and hear what a person has to say."""
        if continued.answer is not None:
            state.finish(continued.answer)
        elif continued.step is not None and state.stop is None:
            await self._resumed.run(state, continued.step)
        if continued.prompt is not None and state.stop is None:
            state.history.add_prompt(continued.prompt)
            state.added(state.history.messages[-1:])
            state.detector.user_message()
            state.prompted = True

    def _state(self, task: Task, scope: RunScope) -> RunState:
        def lost() -> None:
            scope.store_errors += 1

        state = RunState(
            scope=scope,
            history=History(
                task.run_id,
                task.messages,
                self._telemetry,
                self._transcript,
                lost,
                is_stored=task.continued is not None,
            ),
            identity=task.identity,
            allowed=task.allow_tools,
            begun=scope.clock.seconds(),
            detector=RepetitionDetector(self._settings.repetition),
            context_tokens=estimated_tokens(task.messages) + self._options.tool_tokens,
            begun_with=len(task.messages),
        )
        if task.continued is not None:
            task.continued.restore(state, self._settings.budget)
        if task.shared_budget is not None:
            state.share = task.shared_budget.share(state.usage())
        state.history.progress = state.progress
        return state

    async def _step(self, state: RunState) -> None:
        admission = self._checks.request(state, self._expected(state))
        if admission is None:
            return
        state.steps += 1
        self._emit(StepStarted(step=state.steps))
        start = {names.STEP_INDEX: state.steps, names.STEP_PROMPTED: state.prompted or None}
        state.prompted = False
        with self._telemetry.span(names.STEP, start) as span:
            span.set({names.STEP_OUTCOME: "stopped"})  # what an exception leaves behind
            response = await self._ask(state, admission, state.steps)
            outcome = await self._handle(state, response)
            state.calls_seen.end_step()
            self._checks.step(state)
            stopped = outcome == "calls_handled" and state.stop is not None
            span.set({names.STEP_OUTCOME: "stopped" if stopped else outcome})

    async def _ask_last(self, state: RunState) -> None:
        """The last request of a run that a limit stops, where there is room for one: what it says is kept.

        It decides nothing: whatever becomes of it, the run has stopped for the limit.
        """
        wanted = self._settings.budget.last_request and state.stop in LAST_REQUEST_STOPS
        if not wanted or state.history.messages[-1]["role"] == "assistant":  # an answer that was cut has said it
            return
        admission = self._checks.request(state, self._expected(state, last=True))
        if admission is None:
            return
        state.last_request, step = True, state.steps + 1
        self._emit(StepStarted(step=step))
        start = {names.STEP_INDEX: step, names.LAST_REQUEST: True, names.STEP_OUTCOME: "stopped"}
        with self._telemetry.span(names.STEP, start):
            response = await self._ask(state, admission, step, last=True)
            if response.message is not None and says_something(response.message):
                texts = [sendable_text(call.arguments) for call in response.calls]
                state.history.add_answer(response.message, texts)
            state.partial, state.error = response.verdict.text or state.partial, response.error
            why = "this was the last request, and no tool runs any more"
            results = self._skip_all(state, response, Outcome.SKIPPED_BUDGET, why)
            self._tell(response, response.calls, results, step)
            self._checks.step(state, last=True)

    def _expected(self, state: RunState, *, last: bool = False) -> Expected:
        pricing, *fallbacks = self._client.pricings(state.model)
        return Expected(
            input_tokens=state.context_tokens,
            ceiling=self._options.output_ceiling,
            floor=self._options.output_floor,
            caller_cap=self._options.caller_cap,
            pricing=pricing,
            fallback_pricings=fallbacks,
            keep_last=self._settings.budget.last_request and not last,
            last=last,
        )

    async def _ask(self, state: RunState, admission: Admission, step: int, *, last: bool = False) -> Response:
        request = ModelRequest(
            messages=state.history.messages,
            tools=self._options.tools,
            # Servers refuse a history with calls and no tools: they are shown, and may not be called.
            tool_choice=("none" if self._options.tools else None) if last else self._options.tool_choice,
            parameters=self._options.parameters,
            output_cap=admission.output_cap,
        )
        clock, left = state.scope.clock, self._checks.seconds_left(state)
        by_run = left is not None and left <= self._settings.budget.request_seconds
        bounds = Bounds(
            seconds=self._checks.request_seconds(state),
            run_seconds=left,
            timeout_stop=StopReason.DEADLINE_EXCEEDED if by_run else StopReason.MODEL_ERROR,
            capped_stop=STOP_OF[admission.capped_by] if admission.capped_by is not None else None,
            last=last,
        )
        begun = clock.seconds()
        asking = partial(
            self._client.request,
            request,
            input_tokens=admission.input_tokens,
            step=step,
            bounds=bounds,
            clock=clock,
            emit=self._emit,
            keep=state.keep,
            model=state.model,
        )
        response = await self._parts.steps.model(state, LAST_REQUEST_STEP if last else model_step(step), asking)
        state.longest_request = max(state.longest_request, clock.seconds() - begun)
        state.settle(response)
        return response

    async def _handle(self, state: RunState, response: Response) -> StepOutcome:
        verdict = response.verdict
        wanted = response.calls if verdict.kind == "calls" else ()
        if verdict.kind == "calls":
            state.partial = verdict.text
            await self._run_batch(state, response, _answered(response, wanted, state.steps))
            return "calls_handled"
        if response.message is not None and says_something(response.message):
            texts = [sendable_text(call.arguments) for call in response.calls]
            state.history.add_answer(response.message, texts)
        results: list[ToolResult] = []
        if verdict.kind == "final":
            state.finish(verdict.text or "")
        else:
            state.partial, state.error = verdict.text, response.error
            outcome = Outcome.SKIPPED_TRUNCATED if response.truncated else Outcome.SKIPPED_STOP
            results = self._skip_all(state, response, outcome, verdict.detail)
            state.stop_for(verdict.stop or StopReason.INCONSISTENT_RESPONSE, verdict.detail)
        self._tell(response, wanted, results, state.steps)
        return "final" if verdict.kind == "final" else "stopped"

    def _tell(self, response: Response, wanted: Sequence[ToolCall], results: Sequence[ToolResult], step: int) -> None:
        if response.message is not None:
            self._emit(_answered(response, wanted, step))
        for result in results:
            self._emit(CallFinished(step=step, result=result))

    async def _run_batch(self, state: RunState, response: Response, event: ModelAnswered) -> None:
        """Validate and authorise everything, then run it; every call is answered on every way out."""
        batch = Batch(self._parts, state, response.calls, lambda: self._checks.seconds_left(state), self._emit)
        stored, nudge = False, None
        try:
            self._emit(event)
            batch.validate()
            state.history.add_answer(response.message or {}, batch.texts)
            stored = True
            await batch.authorize()
            ids = [call.id for call in response.calls]
            if state.stop is None and not self._checks.batch(state, batch.open_calls, batch.seconds, ids):
                batch.skip_rest(Outcome.SKIPPED_BUDGET, state.stop_detail)
            await batch.execute()
            nudge = self._watch.step(state, batch)
        finally:
            batch.answer_the_rest()
            if not stored:
                state.history.add_answer(response.message or {}, [sendable_text(c.arguments) for c in response.calls])
            state.history.append_results(batch.results, nudge)
            state.added([*(result.message() for result in batch.results), *([nudge] if nudge else [])])
        if state.leaving is not None:
            raise state.leaving

    def _skip_all(self, state: RunState, response: Response, outcome: Outcome, why: str) -> list[ToolResult]:
        """Answer calls of an answer that ends the run: not even validated, each on a span that says so."""
        results: list[ToolResult] = []
        for call in response.calls:
            self._parts.validator.skip(call, outcome)
            results.append(error_result(call, outcome, f"Not run: {why}."))
        if results:
            state.history.append_results(results)
        return results


def _answered(response: Response, wanted: Sequence[ToolCall], step: int) -> ModelAnswered:
    text = response.verdict.text
    return ModelAnswered(step=step, finish_reason=response.finish_reason, text=text, calls=tuple(wanted))


def _stopped_by(error: BaseException, state: RunState) -> None:
    """An exception leaves the run: it is the stop reason, whatever else was due."""
    cancelled = isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit))
    state.stop = StopReason.CANCELLED if cancelled else StopReason.HARNESS_ERROR
    state.partial = state.answer if state.answer is not None else state.partial
    word = signal_word(error)
    state.stop_detail, state.answer = f"{word} ended it" if word else f"{type_name(error)} left the run", None
