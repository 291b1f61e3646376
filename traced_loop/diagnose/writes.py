"""What a run has written that did not end well, or undid something: done and not undone, undone, or nobody knows."""

from collections.abc import Mapping
from typing import Final

from traced_loop import names
from traced_loop.diagnose.finding import Finding, FindingKind, Severity, call_text, indexes, of_calls
from traced_loop.outcomes import ORDERLY_STOPS, Outcome
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.trace import SpanKey

_UNKNOWN: Final = frozenset({Outcome.UNKNOWN, Outcome.UNKNOWN_AFTER_CRASH})
_NAMED: Final = 5
"""Calls that a title names; the others are counted."""


def writes(run: AgentRun) -> list[Finding]:
    """What stays of the writes of such a run; of one that ended well, of those that were to be undone.

    Empty where there are none, and for a run without a stop reason.
    """
    if run.stop_reason is None:
        return []
    undoing, is_well = _undoing(run), run.stop_reason in ORDERLY_STOPS
    stays: list[StoredCall] = []
    undone: list[StoredCall] = []
    unknown: list[StoredCall] = []
    for call in run.calls:
        if call.effect == "write" and call.outcome in {Outcome.OK, *_UNKNOWN}:
            came = undoing.get(call.spans[-1]) if call.spans else None
            if is_well and came is None:
                continue
            is_known = call.outcome == Outcome.OK and came not in _UNKNOWN
            (undone if came == Outcome.OK else stays if is_known else unknown).append(call)
    if not (stays or undone or unknown):
        return []
    left = [*stays, *unknown]
    return [
        Finding(
            kind=FindingKind.WRITES,
            severity=Severity.ERROR if left else Severity.NOTE,
            title="; ".join(
                f"{said}: {_named(calls)}"
                for said, calls in (
                    ("done and NOT undone", stays),
                    ("nobody knows whether it is done", unknown),
                    ("done and undone", undone),
                )
                if calls
            ),
            evidence=of_calls([*left, *undone]),
            calls=indexes([*left, *undone]),
            numbers={"not_undone": len(stays), "unknown": len(unknown), "undone": len(undone)},
            prevent=_prevent(stays, unknown),
        )
    ]


def _undoing(run: AgentRun) -> Mapping[SpanKey, str]:
    """How the compensation of a call ended, by the call's last span: both are in one step, which uses an id once."""
    of_step = {
        (span.trace_id, span.parent_id, call_id): came
        for span in run.trace.spans
        if (call_id := span.text(names.COMPENSATION_CALL_ID)) is not None
        and (came := span.text(names.COMPENSATION_OUTCOME)) is not None
    }
    if not of_step:
        return {}
    places = {span.key: (span.trace_id, span.parent_id) for span in run.trace.spans}
    shown = {call.spans[-1]: call.call_id for call in run.calls if call.spans}
    return {key: came for key, call_id in shown.items() if (came := of_step.get((*places[key], call_id))) is not None}


def _named(calls: list[StoredCall]) -> str:
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return ", ".join(call_text(call) for call in calls[:_NAMED]) + more


def _prevent(stays: list[StoredCall], unknown: list[StoredCall]) -> str:
    if unknown:
        return f"look whether {unknown[0].tool} was applied before anything is run again"
    if stays:
        return "look whether it is to stay; @tool(compensate=...) and on_tool_error='compensate' undo what a batch did"
    return ""
