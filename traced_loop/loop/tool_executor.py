"""An authorised call carried out: its handler run within its time, its end classified, its result capped.

Opens one ``execute_tool`` span per call. Decides no next step: a stop that follows from how a call ended is a value in
``Executed``, for the controller.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any

from traced_loop import names
from traced_loop.argument_schema import HIDDEN_PARAMETER
from traced_loop.call_ledger import Claim, EndState, WriteEnd
from traced_loop.closed_words import ReconcileCause, RepetitionKind
from traced_loop.errors import NotApplied
from traced_loop.events import AttemptFailed, Event
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.bounded_wait import TimedOut
from traced_loop.loop.call_end import TIMEOUT, CallEnd, CallEnds, cancelled_outcome
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.error_words import words_of
from traced_loop.loop.guarded_ledger import GuardedLedger, LedgerFailed
from traced_loop.loop.late_ends import LateEnds, LeftBehind, late_outcome
from traced_loop.loop.reconciliation import Reconciliation
from traced_loop.loop.result_marks import ReadResult
from traced_loop.loop.running_work import RunningWork
from traced_loop.loop.serial_groups import GroupTurn
from traced_loop.loop.tool_attempts import ToolAttempts
from traced_loop.loop.validator import ValidCall
from traced_loop.messages import ToolResult
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.result_text import capped
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.repetition import Repeat
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.ids import Ids
from traced_loop.telemetry.spans import Span, Telemetry
from traced_loop.told import told_result
from traced_loop.tool_registry import ToolDefinition

_STATES: Mapping[Outcome, EndState] = {
    Outcome.OK: "succeeded",
    Outcome.ERROR: "free",
    Outcome.INVALID: "free",
    Outcome.UNKNOWN: "unknown",
}
"""What becomes of a write's claim; only a write that says that it changed nothing ends as ``error`` or ``invalid``."""


@frozen_value
class Order:
    """One call to carry out.

    Attributes:
        valid: the validated call, or the compensation of one.
        step: 1-based.
        agent: name of the loop.
        timeout: seconds that it may take.
        clock: the run's.
        time_left: seconds that the run has left when the call starts; a timeout that is as long is the run's deadline.
        schedule: ``traced_loop.schedule.*`` attributes.
        repeat: what is known of an equal call in the previous step, or None.
        trends: how the numbers of the run's results have moved.
        left_behind: takes the tool if it still runs when it is not waited for any more.
        claim: of a write that the ledger knows; settled when it has ended, also if that is later.
        turn: the call's in its serial group, which is kept while its work goes on.
        emit: told of tries that failed.
    """

    valid: ValidCall
    step: int
    agent: str
    timeout: float
    clock: Clock
    time_left: float
    schedule: Mapping[str, Any] = field(default_factory=dict[str, Any])
    repeat: Repeat | None = None
    trends: NumberTrends = field(default_factory=NumberTrends)
    left_behind: list[LeftBehind] = field(default_factory=list[LeftBehind])
    claim: Claim | None = None
    turn: GroupTurn | None = None
    emit: Callable[[Event], None] = lambda _event: None


@frozen_value
class Executed:
    """How a call ended.

    Attributes:
        result: what the model is told.
        span: the span that shows it; held where there is a stop, until it is known whether that one is the run's.
        stop: why the run must stop, or None.
        detail: a short sentence for the stop.
        raised: an exception that must leave the run (``SystemExit``, ``KeyboardInterrupt``), or None.
        given: what the handler gave, as JSON text, whole; None where it gave nothing.
    """

    result: ToolResult
    span: Span
    stop: StopReason | None = None
    detail: str = ""
    raised: BaseException | None = None
    given: str | None = None


class ToolExecutor:
    """Carries out the calls of one loop."""

    def __init__(
        self,
        telemetry: Telemetry,
        fingerprints: Fingerprints,
        *,
        ids: Ids,
        stop_on_timeout: bool,
        threads: DaemonThreads,
        ledger: GuardedLedger,
        reconciliation: Reconciliation,
        stop_on_error: bool = False,
    ) -> None:
        self._telemetry = telemetry
        self._ledger = ledger
        self._reconciliation = reconciliation
        self._ends = CallEnds(fingerprints, stop_on_timeout=stop_on_timeout, stop_on_error=stop_on_error)
        self._late = LateEnds(telemetry)
        self._ids = ids
        self._threads = threads

    async def execute(self, order: Order) -> Executed:
        """Carry out one call.

        Raises:
            CancelledError: the run was cancelled; the span has ended with the outcome ``cancelled`` or ``unknown``.
        """
        valid, tool = order.valid, order.valid.tool
        name = f"{names.EXECUTE_TOOL} {tool.name}"
        links = (order.repeat.first,) if order.repeat else (valid.undoes.span,) if valid.undoes else ()
        with self._telemetry.span(name, self._start(order), links=links) as span:
            content = span.content if tool.content else None
            if content is not None:
                content.arguments(valid.json_arguments)
            try:
                end = await self._run(order, span)
            except BaseException:  # its cancellation; whatever else it is, the call has an outcome
                span.set({valid.outcome_key: cancelled_outcome(tool.effect)})
                raise
            told = len(end.content) if end.content.isascii() else len(end.content.encode(errors="replace"))
            span.set({**_marks(tool), valid.outcome_key: end.outcome, names.RESULT_TOLD_BYTES: told, **end.attributes})
            if content is not None:
                content.told(end.content)
            if end.stop is not None:
                span.hold()
            if end.error_type is not None:
                span.fail(end.error_type, f"tool call ended: {end.outcome}")
        result = ToolResult(call=valid.call, outcome=end.outcome, content=end.content)
        return Executed(result=result, span=span, stop=end.stop, detail=end.detail, raised=end.raised, given=end.given)

    async def _run(self, order: Order, span: Span) -> CallEnd:
        """Run the handler, and say in the ledger how it ended before anybody else is told."""
        attempts = self._attempts(order, span)
        try:
            begun = order.clock.seconds()
            end = await self._end(order, span, attempts)
            if end.outcome is Outcome.UNKNOWN and end.raised is None:
                end = await self._reconciled(order, attempts.work, end, order.clock.seconds() - begun)
        except BaseException:
            with suppress(LedgerFailed):  # the call is unknown in any case
                self._let_go(order, span, attempts.work, None)
            raise
        try:
            self._let_go(order, span, attempts.work, end)
        except LedgerFailed as failed:
            return self._ends.unrecorded(order.valid, end, str(failed))
        return end

    async def _end(self, order: Order, span: Span, attempts: ToolAttempts) -> CallEnd:
        valid = order.valid
        if valid.key.broken is not None:
            words = words_of(valid.key.broken)
            unmade = NotApplied(f"the tool's key cannot be made: {words.said}")
            return self._ends.raised(valid, unmade, words.leaves)
        try:
            given, error = await attempts.outcome(order.timeout, begun=span.record.start_ns)
        except TimedOut:
            return self._ends.timed_out(valid, order.timeout, by_run=order.timeout >= order.time_left)
        if error is not None:
            return self._ends.raised(valid, error)
        return self._ends.succeeded(valid, given, order.trends)

    async def _reconciled(self, order: Order, work: RunningWork | None, end: CallEnd, spent: float) -> CallEnd:
        """How a call ended of which nobody knew, where its tool can find out."""
        valid, seconds = order.valid, min(order.timeout, order.time_left - spent)
        cause: ReconcileCause = "timeout" if end.error_type == TIMEOUT else "error"
        found = await self._reconciliation.ask(valid, seconds, cause)
        if found.answer == "done":
            return CallEnd(outcome=Outcome.OK, content=found.content or "", given=found.given)
        if found.answer == "not_done" and (work is None or work.over):
            return self._ends.raised(valid, NotApplied("It was not done, as the tool found out."))
        return end

    def _attempts(self, order: Order, span: Span) -> ToolAttempts:
        valid, tool = order.valid, order.valid.tool
        arguments = dict(valid.arguments)
        if tool.takes_key:
            arguments[HIDDEN_PARAMETER] = valid.key.text

        def failed(number: int, error_type: str, delay: float) -> None:
            call = (valid.call.id, tool.name)
            order.emit(AttemptFailed(step=order.step, number=number, error_type=error_type, delay=delay, call=call))

        return ToolAttempts(
            tool,
            arguments,
            self._telemetry,
            threads=self._threads,
            clock=order.clock,
            execution_id=str(span.record.attributes.get(names.EXECUTION_ID)),
            new_id=self._ids.execution_id,
            on_failed=failed,
        )

    def _let_go(self, order: Order, span: Span, work: RunningWork | None, end: CallEnd | None) -> None:
        """Nobody waits for the handler any more, whether it has ended or not.

        Raises:
            LedgerFailed: how it ended cannot be kept; all else is done.
        """
        try:
            self._tell_ledger(order, span, work, end)
        finally:
            if work is not None and not work.over:
                if order.turn is not None:
                    order.turn.keep(work)
                order.left_behind.append(self._late.leave(order.valid, work, span))

    def _tell_ledger(self, order: Order, span: Span, work: RunningWork | None, end: CallEnd | None) -> None:
        if order.claim is not None and work is not None and (end is None or end.error_type == TIMEOUT):
            self._ledger.leave(order.claim)
            work.when_over(lambda error: self._settle_late(order, span, work, error))
        elif end is not None:
            self._settle(order, span, _STATES.get(end.outcome, "unknown"), end.content)
        else:  # it was never called
            self._settle(order, span, "free", None)

    def _settle_late(self, order: Order, span: Span, work: RunningWork, error: BaseException | None) -> None:
        """A write has ended for which nobody waited any more: in the tool's own thread, perhaps after the run."""
        state, value = _STATES[late_outcome(error, "write")], work.value
        with suppress(LedgerFailed):  # it stays as it was told: unknown
            if state != "succeeded" or not isinstance(value, ReadResult):  # what gave nothing readable is not known
                self._settle(order, span, "free" if state == "free" else "unknown", None)
                return
            shown, _, _ = capped(value.text, order.valid.tool.max_result_bytes)
            self._settle(order, span, "succeeded", told_result(shown))

    def _settle(self, order: Order, span: Span, state: EndState, content: str | None) -> None:
        if order.claim is not None:
            now = span.record.end_ns or order.clock.now_ns()
            end = WriteEnd(state=state, content=content, span=span.id, ended_ns=now)
            self._ledger.settle(order.claim, end)

    def _start(self, order: Order) -> dict[str, Any]:
        valid, tool, repeat = order.valid, order.valid.tool, order.repeat
        return {
            **_marks(tool),
            names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
            names.GEN_AI_TOOL_NAME: tool.name,
            names.GEN_AI_TOOL_TYPE: "function",
            (names.GEN_AI_TOOL_CALL_ID if valid.undoes is None else valid.id_key): valid.call.id,
            names.GEN_AI_AGENT_NAME: order.agent,
            names.CALL_INDEX: valid.call.index if valid.undoes is None else None,
            names.STEP_INDEX: order.step,
            names.EXECUTION_ID: self._ids.execution_id(),
            names.EFFECT: tool.effect,
            names.RISK: tool.risk,
            names.REPEATABLE: tool.repeatable or None,
            names.POLL_UNCHANGED: tool.poll.unchanged if tool.poll is not None else None,
            names.NEUTRAL: tool.neutral or None,
            **order.schedule,
            **valid.marks,
            names.ARGS_SUMMARY: valid.summary,
            names.REPETITION_KIND: RepetitionKind.IDENTICAL_CALL if repeat else None,
            names.REPETITION_COUNT: repeat.count if repeat else None,
        }


def _marks(tool: ToolDefinition) -> Mapping[str, str | int]:
    """What a tool says of where it is carried out; nothing where it cannot: the call does not depend on it."""
    try:
        return {} if tool.marks is None else dict(tool.marks())
    except Exception:  # noqa: BLE001 - whoever made the tool wrote it
        return {}
