"""What a run has written that did not end well, or undid something: done and not undone, undone, or nobody knows."""

from collections.abc import Iterable, Mapping
from typing import Final

from traced_loop import names
from traced_loop.diagnose.finding import Finding, FindingKind, Severity, call_text, indexes, of_calls
from traced_loop.outcomes import ORDERLY_STOPS, UNKNOWN_OUTCOMES, Outcome
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.settled_write import Settled
from traced_loop.read.trace import SpanKey

_NAMED: Final = 5
"""Calls that a title names; the others are counted."""


def writes(run: AgentRun) -> list[Finding]:
    """What stays of the writes of such a run; of one that ended well, of those that were to be undone.

    Empty where there are none, and for a run without a stop reason.
    """
    if run.stop_reason is None:
        return []
    undoing, is_well = _undoing(run), run.stop_reason in ORDERLY_STOPS
    sorted_calls: Mapping[Settled | None, list[StoredCall]] = {"done": [], "undone": [], None: [], "not_done": []}
    for call in each_write_once(run.calls):
        if call.effect == "write" and call.outcome in {Outcome.OK, *UNKNOWN_OUTCOMES}:
            came = undoing.get(call.spans[-1]) if call.spans else None
            if not is_well or came is not None:
                sorted_calls[_came(call, came)].append(call)
    stays, undone, unknown = sorted_calls["done"], sorted_calls["undone"], sorted_calls[None]
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


def _came(call: StoredCall, undoing: str | None) -> Settled | None:
    """What became of a write, None for unknown: as the ledger knows it by now, else as the trace knew it then."""
    if call.settled is not None:
        return call.settled.state
    if undoing == Outcome.OK:
        return "undone"
    return None if call.outcome in UNKNOWN_OUTCOMES or undoing in UNKNOWN_OUTCOMES else "done"


def each_write_once(calls: Iterable[StoredCall]) -> list[StoredCall]:
    """The calls without those that only came upon a write that another process has made, or left unknown.

    Of those that are one write the one that did it is kept, else the one that ran.
    """
    found: dict[object, StoredCall] = {}
    for call in calls:
        is_unknown = call.outcome in UNKNOWN_OUTCOMES
        is_one = bool(call.call_id) and (is_unknown or (call.outcome == Outcome.OK and call.key is not None))
        name = (call.agent, call.tool, call.call_id, call.key) if is_one else call.index
        known = found.setdefault(name, call)
        if (not is_unknown, call.has_run) > (known.outcome not in UNKNOWN_OUTCOMES, known.has_run):
            found[name] = call
    return list(found.values())


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
