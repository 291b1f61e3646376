"""An authorised call carried out: its handler run within its time, its end classified, its result capped.

Opens one ``execute_tool`` span per call. Decides no next step: a stop that follows from how a call ended is a value in
``Executed``, for the controller.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from traced_loop import names
from traced_loop.argument_schema import HIDDEN_PARAMETER
from traced_loop.closed_words import RepetitionKind
from traced_loop.errors import NotApplied
from traced_loop.loop.bounded_wait import TimedOut
from traced_loop.loop.call_end import CallEnd, CallEnds, cancelled_outcome
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.error_words import words_of
from traced_loop.loop.held_writes import HeldWrites
from traced_loop.loop.late_ends import LateEnds, LeftBehind
from traced_loop.loop.tool_attempts import ToolAttempts
from traced_loop.loop.validator import ValidCall
from traced_loop.messages import ToolResult
from traced_loop.outcomes import StopReason
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.repetition import Repeat
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.ids import Ids
from traced_loop.telemetry.spans import Span, Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One call to carry out.

    Attributes:
        valid: the validated call.
        step: 1-based.
        agent: name of the loop.
        timeout: seconds that it may take.
        clock: the run's.
        time_left: seconds that the run has left when the call starts; a timeout that is as long is the run's deadline.
        schedule: ``traced_loop.schedule.*`` attributes.
        repeat: what is known of an equal call in the previous step, or None.
        trends: how the numbers of the run's results have moved.
        left_behind: takes the tool if it still runs when it is not waited for any more.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Executed:
    """How a call ended.

    Attributes:
        result: what the model is told.
        span: the span that shows it; held where there is a stop, until it is known whether that one is the run's.
        stop: why the run must stop, or None.
        detail: a short sentence for the stop.
        raised: an exception that must leave the run (``SystemExit``, ``KeyboardInterrupt``), or None.
    """

    result: ToolResult
    span: Span
    stop: StopReason | None = None
    detail: str = ""
    raised: BaseException | None = None


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
    ) -> None:
        self._telemetry = telemetry
        self._ends = CallEnds(fingerprints, stop_on_timeout=stop_on_timeout)
        self._late = LateEnds(telemetry)
        self._ids = ids
        self._threads = threads
        self.writes = HeldWrites()
        """The writes that run; one has to be taken before it is executed."""

    async def execute(self, order: Order) -> Executed:
        """Carry out one call.

        Raises:
            CancelledError: the run was cancelled; the span has ended with the outcome ``cancelled`` or ``unknown``.
        """
        valid, tool = order.valid, order.valid.tool
        name = f"{names.EXECUTE_TOOL} {tool.name}"
        links = (order.repeat.first,) if order.repeat else ()
        with self._telemetry.span(name, self._start(order), links=links) as span:
            content = span.content if tool.content else None
            if content is not None:
                content.arguments(valid.json_arguments)
            try:
                end = await self._run(order, span)
            except BaseException:  # its cancellation; whatever else it is, the call has an outcome
                span.set({names.CALL_OUTCOME: cancelled_outcome(tool.effect)})
                raise
            told = len(end.content) if end.content.isascii() else len(end.content.encode(errors="replace"))
            span.set({names.CALL_OUTCOME: end.outcome, names.RESULT_TOLD_BYTES: told, **end.attributes})
            if content is not None:
                content.told(end.content)
            if end.stop is not None:
                span.hold()
            if end.error_type is not None:
                span.fail(end.error_type, f"tool call ended: {end.outcome}")
        result = ToolResult(call=valid.call, outcome=end.outcome, content=end.content)
        return Executed(result=result, span=span, stop=end.stop, detail=end.detail, raised=end.raised)

    async def _run(self, order: Order, span: Span) -> CallEnd:
        valid, tool = order.valid, order.valid.tool
        attempts: ToolAttempts | None = None
        try:
            arguments = dict(valid.arguments)
            if valid.key.broken is not None:
                words = words_of(valid.key.broken)
                unmade = NotApplied(f"the tool's key cannot be made: {words.said}")
                return self._ends.raised(valid, unmade, words.leaves)
            if tool.takes_key:
                arguments[HIDDEN_PARAMETER] = valid.key.text
            attempts = self._attempts(order, arguments, span)
            try:
                given, error = await attempts.outcome(order.timeout, begun=span.record.start_ns)
            except TimedOut:
                return self._ends.timed_out(valid, order.timeout, by_run=order.timeout >= order.time_left)
            if error is not None:
                return self._ends.raised(valid, error)
            return self._ends.succeeded(valid, given, order.trends)
        finally:
            self._let_go(order, span, attempts)

    def _attempts(self, order: Order, arguments: Mapping[str, Any], span: Span) -> ToolAttempts:
        return ToolAttempts(
            order.valid.tool,
            arguments,
            self._telemetry,
            threads=self._threads,
            clock=order.clock,
            execution_id=str(span.record.attributes.get(names.EXECUTION_ID)),
            new_id=self._ids.execution_id,
        )

    def _let_go(self, order: Order, span: Span, attempts: ToolAttempts | None) -> None:
        """Nobody waits for the handler any more, whether it has ended or not."""
        work = attempts.work if attempts is not None else None
        self.writes.let_go(order.valid, work)
        if work is not None and not work.over:
            order.left_behind.append(self._late.leave(order.valid, work, span))

    def _start(self, order: Order) -> dict[str, Any]:
        valid, tool, repeat = order.valid, order.valid.tool, order.repeat
        return {
            names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
            names.GEN_AI_TOOL_NAME: tool.name,
            names.GEN_AI_TOOL_TYPE: "function",
            names.GEN_AI_TOOL_CALL_ID: valid.call.id,
            names.GEN_AI_AGENT_NAME: order.agent,
            names.CALL_INDEX: valid.call.index,
            names.STEP_INDEX: order.step,
            names.EXECUTION_ID: self._ids.execution_id(),
            names.EFFECT: tool.effect,
            names.RISK: tool.risk,
            **order.schedule,
            **valid.marks,
            names.ARGS_SUMMARY: valid.summary,
            names.REPETITION_KIND: RepetitionKind.IDENTICAL_CALL if repeat else None,
            names.REPETITION_COUNT: repeat.count if repeat else None,
        }
