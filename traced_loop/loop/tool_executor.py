"""An authorised call carried out: its handler run within its time, its end classified, its result capped.

Opens one ``execute_tool`` span per call. Decides no next step: a stop that follows from how a call ended is a value in
``Executed``, for the controller.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from traced_loop import names
from traced_loop.argument_schema import HIDDEN_PARAMETER
from traced_loop.closed_words import RepetitionKind
from traced_loop.errors import InvalidArguments, NotApplied, ToolError
from traced_loop.loop.bounded_wait import TimedOut, within
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.error_words import words_of
from traced_loop.loop.result_marks import ReadResult, error_marks, read_result, result_marks
from traced_loop.loop.validator import ValidCall
from traced_loop.messages import ToolResult
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.result_text import capped, serialise
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.repetition import Repeat
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.ids import Ids
from traced_loop.telemetry.spans import Span, Telemetry
from traced_loop.told import told_error, told_result


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One call to carry out.

    Attributes:
        valid: the validated call.
        step: 1-based.
        agent: name of the loop.
        timeout: seconds that it may take.
        time_left: seconds that the run has left when the call starts; a timeout that is as long is the run's deadline.
        schedule: ``traced_loop.schedule.*`` attributes.
        repeat: what is known of an equal call in the previous step, or None.
        trends: how the numbers of the run's results have moved.
    """

    valid: ValidCall
    step: int
    agent: str
    timeout: float
    time_left: float
    schedule: Mapping[str, Any] = field(default_factory=dict[str, Any])
    repeat: Repeat | None = None
    trends: NumberTrends = field(default_factory=NumberTrends)


@dataclass(frozen=True, kw_only=True, slots=True)
class Executed:
    """How a call ended.

    Attributes:
        result: what the model is told.
        span: the span that shows it; held where there is a stop, until it is known whether that one is the run's.
        stop: why the run must stop, or None.
        detail: a short sentence for the stop.
        abandoned: whether the handler still runs.
        raised: an exception that must leave the run (``SystemExit``, ``KeyboardInterrupt``), or None.
    """

    result: ToolResult
    span: Span
    stop: StopReason | None = None
    detail: str = ""
    abandoned: bool = False
    raised: BaseException | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _End:
    """How a handler ended, before it is shown."""

    outcome: Outcome
    content: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error_type: str | None = None
    stop: StopReason | None = None
    detail: str = ""
    abandoned: bool = False
    raised: BaseException | None = None


_Ended = tuple[Any, BaseException | None]
"""A handler's value and what it raised, one of them None."""


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
        self._fingerprints = fingerprints
        self._ids = ids
        self._stop_on_timeout = stop_on_timeout
        self._threads = threads

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
                end = await self._run(order)
            except BaseException:  # its cancellation; whatever else it is, the call has an outcome
                span.set({names.CALL_OUTCOME: cancelled_outcome(tool.effect)})
                raise
            span.set({names.CALL_OUTCOME: end.outcome, **end.attributes})
            if content is not None:
                content.told(end.content)
            if end.stop is not None:
                span.hold()
            if end.error_type is not None:
                span.fail(end.error_type, f"tool call ended: {end.outcome}")
        result = ToolResult(call=valid.call, outcome=end.outcome, content=end.content)
        return Executed(
            result=result, span=span, stop=end.stop, detail=end.detail, abandoned=end.abandoned, raised=end.raised
        )

    async def _run(self, order: Order) -> _End:
        tool, key = order.valid.tool, order.valid.key
        arguments = dict(order.valid.arguments)
        if key.broken is not None:
            words = words_of(key.broken)
            return self._raised(order, NotApplied(f"the tool's key cannot be made: {words.said}"), words.leaves)
        if tool.takes_key:
            arguments[HIDDEN_PARAMETER] = key.text
        try:
            given, error = await within(self._call(tool.handler, arguments), order.timeout)
        except TimedOut as timed_out:
            return self._timed_out(order, abandoned=timed_out.abandoned or not _is_async(tool.handler))
        except BaseException as broken:
            if _is_cancelled():
                raise
            given, error = None, broken  # the tool cancelled its own task, or gave a value that cannot be read
        if error is not None:
            return self._raised(order, error)
        return self._succeeded(order, cast("ReadResult", given))

    async def _call(
        self, handler: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> tuple[Any, BaseException | None]:
        """Run the handler and read what it gives, where it may block in its thread; the value is a ``ReadResult``.

        Raises:
            BaseException: the run's own cancellation, or what a hostile value raises when it is looked at.
        """
        try:
            started: Any = (
                handler(**arguments) if _is_async(handler) else self._threads.run(lambda: _read(handler(**arguments)))
            )
        except Exception as refused:  # noqa: BLE001 - arguments that it does not take, or no thread to be had
            return None, NotApplied(f"the tool could not be started: {type(refused).__name__}")
        value, error = await _awaited(started) if _is_async(handler) else await started
        if error is None and inspect.isawaitable(value):
            value, error = await _awaited(value)  # a plain function that returned a coroutine
        if error is not None or isinstance(value, ReadResult):
            return value, error
        if isinstance(value, Iterator):
            return await self._threads.run(lambda: _read(cast("object", value)))
        return _read(value), None

    def _succeeded(self, order: Order, given: ReadResult) -> _End:
        shown, size, was_cut = capped(given.text, order.valid.tool.max_result_bytes)
        attributes = {
            names.RESULT_BYTES: size,
            **result_marks(given, order.valid.identity, self._fingerprints, order.trends),
            names.RESULT_TRUNCATED: was_cut or None,
        }
        return _End(outcome=Outcome.OK, content=told_result(shown), attributes=attributes)

    def _timed_out(self, order: Order, *, abandoned: bool) -> _End:
        name, seconds = order.valid.tool.name, f"{order.timeout:.3g}"
        by_run = order.timeout >= order.time_left
        if order.valid.tool.effect == "write":
            message = f"No answer within {seconds} s; it may have been applied. Do not repeat it."
            detail = f"{name} did not answer within {seconds} s, and may have been applied"
            stop: StopReason | None = StopReason.OUTCOME_UNKNOWN
            outcome = Outcome.UNKNOWN
        else:
            message = f"No answer within {seconds} s."
            outcome = Outcome.TIMED_OUT
            stop = StopReason.DEADLINE_EXCEEDED if by_run else StopReason.TOOL_TIMEOUT
            detail = f"{name} did not answer within {seconds} s" + (", all that the run had left" if by_run else "")
            if not by_run and not self._stop_on_timeout:
                stop, detail = None, ""
        return _End(
            outcome=outcome,
            content=told_error(outcome, message),
            error_type="timeout",
            stop=stop,
            detail=detail,
            abandoned=abandoned,
        )

    def _raised(self, order: Order, error: BaseException, leaves: BaseException | None = None) -> _End:
        """How a call ends that raised; ``leaves`` must leave the run although the error is another."""
        tool, words, kind = order.valid.tool, words_of(error), type(error)
        leaves = leaves or words.leaves
        stop = None if leaves is None else StopReason.CANCELLED
        marks = error_marks(words.type, words.text, self._fingerprints)
        if issubclass(kind, InvalidArguments):
            # A refusal of arguments is a verdict, wherever it is made.
            content = told_error(Outcome.INVALID, words.text or "invalid arguments")
            return _End(outcome=Outcome.INVALID, content=content, attributes=marks, stop=stop, raised=leaves)
        attributes = {names.ERROR_CLASS: "transient" if words.transient else "deterministic", **marks}
        error_type = "tool_error" if issubclass(kind, ToolError) else words.type
        outcome, said, detail = Outcome.ERROR, words.said, ""
        if tool.effect == "write" and not issubclass(kind, NotApplied):
            outcome, said = Outcome.UNKNOWN, f"It may have been applied. Do not repeat it. {words.said}"
            detail = f"{tool.name} raised {words.name} after it had started, and may have been applied"
            stop = stop or StopReason.OUTCOME_UNKNOWN
        return _End(
            outcome=outcome,
            content=told_error(outcome, said),
            attributes=attributes,
            error_type=error_type,
            stop=stop,
            detail=detail,
            raised=leaves,
        )

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


def cancelled_outcome(effect: str) -> Outcome:
    """How a call ends that was running when the run was cancelled: a write may have happened."""
    return Outcome.UNKNOWN if effect == "write" else Outcome.CANCELLED


async def _awaited(value: Awaitable[Any]) -> _Ended:
    try:
        return await value, None
    except (KeyboardInterrupt, SystemExit) as error:
        return None, error  # would end the event loop
    except BaseException as error:
        if _is_cancelled():  # timed out or cancelled, whatever the tool makes of it
            raise asyncio.CancelledError from error
        return None, error


def _is_cancelled() -> bool:
    """Whether the current task was asked to end, as against a tool that raises or cancels on its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_async(handler: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(handler)


def _read(value: object) -> object:
    """What a handler gave, looked at; an awaitable as it is, for the event loop.

    Raises:
        BaseException: what a value with hostile special methods raises.
    """
    if inspect.isawaitable(value):
        return value
    return read_result(value, serialise(value))
