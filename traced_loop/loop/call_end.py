"""How a call ends, from what its handler gave, raised or failed to give in time: outcome, words, marks and stop.

Decides nothing beyond the call: a stop is a value, for the controller.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from traced_loop import names
from traced_loop.errors import InvalidArguments, NotApplied, ToolError
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.error_words import ErrorWords, words_of
from traced_loop.loop.result_marks import ReadResult, error_marks, result_marks
from traced_loop.loop.validator import ValidCall
from traced_loop.outcomes import Effect, Outcome, StopReason
from traced_loop.result_text import capped
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.poll_over import says_over
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.told import told_error, told_result

TIMEOUT = "timeout"
"""``error.type`` of a call whose time was over."""

LEDGER_ERROR = "ledger_error"
"""``error.type`` of a call whose end could not be recorded."""


@frozen_value
class CallEnd:
    """How a handler ended, before it is shown; ``given`` is what it gave, as JSON text, whole."""

    outcome: Outcome
    content: str
    given: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error_type: str | None = None
    stop: StopReason | None = None
    detail: str = ""
    raised: BaseException | None = None


class CallEnds:
    """Judges the ends of one loop's calls."""

    def __init__(self, fingerprints: Fingerprints, *, stop_on_timeout: bool, stop_on_error: bool) -> None:
        self._fingerprints = fingerprints
        self._stop_on_timeout = stop_on_timeout
        self._stop_on_error = stop_on_error

    def succeeded(self, valid: ValidCall, given: ReadResult, trends: NumberTrends) -> CallEnd:
        """The handler gave a value."""
        shown, size, was_cut = capped(given.text, valid.tool.max_result_bytes)
        attributes = {
            names.RESULT_BYTES: size,
            **result_marks(given, valid.identity, self._fingerprints, trends),
            names.RESULT_TRUNCATED: was_cut or None,
            names.POLL_OVER: (valid.tool.poll is not None and says_over(given.text)) or None,
        }
        return CallEnd(outcome=Outcome.OK, content=told_result(shown), given=given.text, attributes=attributes)

    def timed_out(self, valid: ValidCall, timeout: float, *, by_run: bool) -> CallEnd:
        """Nothing came in time; ``by_run`` where the tool had all that the run had left."""
        name, seconds = valid.tool.name, f"{timeout:.3g}"
        if valid.tool.effect == "write":
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
        content = told_error(outcome, message)
        return CallEnd(outcome=outcome, content=content, error_type=TIMEOUT, stop=stop, detail=detail)

    def unrecorded(self, valid: ValidCall, end: CallEnd, why: str) -> CallEnd:
        """A write ended, and the ledger could not keep how; what it gave is not told, since nothing may rest on it."""
        said = "It may have been applied, and how it ended could not be recorded. Do not repeat it."
        return replace(
            end,
            outcome=Outcome.UNKNOWN,
            content=told_error(Outcome.UNKNOWN, said),
            given=None,
            attributes={},
            error_type=LEDGER_ERROR,
            stop=StopReason.CANCELLED if end.raised is not None else StopReason.OUTCOME_UNKNOWN,
            detail=f"the ledger of writes failed ({why}) after {valid.tool.name} had run",
        )

    def raised(self, valid: ValidCall, error: BaseException, leaves: BaseException | None = None) -> CallEnd:
        """The handler raised; ``leaves`` must leave the run although the error is another."""
        tool, words = valid.tool, words_of(error)
        leaves = leaves or words.leaves
        stop = None if leaves is None else StopReason.CANCELLED
        marks = error_marks(words.type, words.text, self._fingerprints)
        outcome = outcome_of(error, tool.effect)
        if outcome is Outcome.INVALID:
            # A refusal of arguments is a verdict, wherever it is made.
            content = told_error(Outcome.INVALID, words.text or "invalid arguments")
            return CallEnd(outcome=Outcome.INVALID, content=content, attributes=marks, stop=stop, raised=leaves)
        said, detail = words.said, ""
        if outcome is Outcome.UNKNOWN:
            said = f"It may have been applied. Do not repeat it. {words.said}"
            detail = f"{tool.name} raised {words.name} after it had started, and may have been applied"
            stop = stop or StopReason.OUTCOME_UNKNOWN
        elif self._stop_on_error:
            detail = f"{tool.name} raised {words.name}"
            stop = stop or StopReason.TOOL_FAILED
        return CallEnd(
            outcome=outcome,
            content=told_error(outcome, said),
            attributes={names.ERROR_CLASS: "transient" if words.transient else "deterministic", **marks},
            error_type=shown_type(error, words),
            stop=stop,
            detail=detail,
            raised=leaves,
        )


def outcome_of(error: BaseException, effect: Effect) -> Outcome:
    """The outcome of a call whose handler raised."""
    kind = type(error)
    if issubclass(kind, InvalidArguments):
        return Outcome.INVALID
    return Outcome.UNKNOWN if effect == "write" and not issubclass(kind, NotApplied) else Outcome.ERROR


def shown_type(error: BaseException, words: ErrorWords) -> str:
    """``error.type`` of what a handler raised."""
    return "tool_error" if issubclass(type(error), ToolError) else words.type


def cancelled_outcome(effect: str) -> Outcome:
    """How a call ends that was running when the run was cancelled: a write may have happened."""
    return Outcome.UNKNOWN if effect == "write" else Outcome.CANCELLED
