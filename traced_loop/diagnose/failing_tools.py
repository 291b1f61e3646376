"""Tools that failed, tool by tool; a write of which somebody knows by now what came of it is told with that."""

from collections.abc import Iterator
from typing import Final

from traced_loop.amount_text import counted
from traced_loop.diagnose.finding import Finding, FindingKind, Severity, by_tool, call_text, indexes, most, of_calls
from traced_loop.diagnose.writes import each_write_once
from traced_loop.outcomes import UNKNOWN_OUTCOMES, Outcome, StopReason
from traced_loop.read.agent_run import AgentRun, StoredCall

_FAILED: Final = frozenset(
    {
        Outcome.ERROR,
        Outcome.TIMED_OUT,
        Outcome.UNKNOWN,
        Outcome.CONFLICT,
        Outcome.UNKNOWN_AFTER_CRASH,
        Outcome.CANCELLED,
    }
)


def _has_failed(call: StoredCall) -> bool:
    """Whether the tool failed: as its span says, else as its result tells."""
    if call.outcome in {None, Outcome.OK, Outcome.REPLAYED}:
        return call.error_class is not None
    return call.outcome in _FAILED


def failing_tools(run: AgentRun, severity: Severity) -> Iterator[Finding]:
    """What failed of each tool; each call counts once, also where several processes came upon it.

    Args:
        run: of any dialect.
        severity: of a failure of which it is known that nothing was left in doubt.
    """
    # What a run's own cancellation cut off did not fail: the stop tells of it.
    cut_off = {Outcome.CANCELLED} if run.stop_reason == StopReason.CANCELLED else set[str]()
    failed = [call for call in each_write_once(run.calls) if _has_failed(call) and call.outcome not in cut_off]
    for tool, calls in by_tool(call for call in failed if call.settled is None).items():
        yield _failing(run, tool, calls, severity)
    yield from map(_settled, (call for call in failed if call.settled is not None))


def _failing(run: AgentRun, tool: str, calls: list[StoredCall], severity: Severity) -> Finding:
    of_tool = {call.index for call in run.calls if call.tool == tool and (call.has_run or call.ran is None)}
    of_tool |= {call.index for call in calls}  # a write that an earlier run left unknown fails without being run
    told = {call.index: "told as a result" for call in calls if call.outcome not in _FAILED}
    words = ", ".join(most({call.index: call.outcome or "" for call in calls} | told))
    types = ", ".join(most({call.index: call.error_type for call in calls if call.error_type}))
    alike = len({call.error for call in calls}) == 1 and calls[0].error is not None and len(calls) > 1
    unknown = any(call.is_unknown for call in calls)
    return Finding(
        kind=FindingKind.FAILING_TOOL,
        severity=Severity.ERROR if unknown else severity,
        title=f"{tool or 'a tool'} failed in {len(calls)} of {counted(len(of_tool), 'call')}: {words}"
        f"{f' ({types})' if types else ''}{', always with the same error' if alike else ''}"
        f"{'; nobody knows whether it was applied' if unknown else ''}",
        evidence=of_calls(calls),
        calls=indexes(calls),
        numbers={"failed": len(calls), "calls": len(of_tool)},
        cost_ns=sum(max(0, call.end_ns - call.start_ns) for call in calls if call.end_ns and call.has_run),
        prevent=_against_failing(tool or "the tool", calls, ours=run.dialect == "traced_loop"),
    )


def _settled(call: StoredCall) -> Finding:
    """A write that is known by now asks for nothing any more."""
    came = "" if call.settled is None else call.settled.text
    return Finding(
        kind=FindingKind.FAILING_TOOL,
        severity=Severity.NOTE,
        title=f"the outcome of {call_text(call)} was unknown: it {came}",
        evidence=of_calls([call]),
        calls=indexes([call]),
        prevent=f"let {call.tool or 'the tool'} raise NotApplied where it knows that nothing happened",
    )


def _against_failing(tool: str, calls: list[StoredCall], *, ours: bool) -> str:
    outcomes = {call.outcome for call in calls}
    if outcomes & UNKNOWN_OUTCOMES:
        return f"look whether {tool} was applied; let it raise NotApplied where it knows that nothing happened"
    if Outcome.TIMED_OUT in outcomes:
        return f"find out why {tool} does not answer; a larger timeout= only where it needs longer"
    if any(call.error_class == "transient" for call in calls) and any(call.attempts for call in calls):
        return f"look at what {tool} depends on: its errors outlast its tries"
    if any(call.error_class == "transient" for call in calls):
        return f"try {tool} again, its errors pass: retries=2"
    if ours and all(call.error_type == "tool_error" for call in calls):
        return f"say in the ToolError of {tool} what the model is to do instead, if it does not yet"
    how = ": raise ToolError" if ours else ""
    return f"let the error of {tool} tell the model what to do instead{how}"
