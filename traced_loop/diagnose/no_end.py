"""A run that has no end: it still runs, it died, or nobody knows; and what it does, or did at its last sign of life."""

from collections.abc import Iterator
from typing import Final

from traced_loop import names
from traced_loop.amount_text import counted, nanoseconds_text
from traced_loop.diagnose.finding import Finding, FindingKind, Number, Severity, indexes, span_ids, untold
from traced_loop.read.agent_run import AgentRun, Gap
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.span_tree import call_id
from traced_loop.read.trace import StoredSpan

LONG_NS: Final = 30_000_000_000
"""Whatever has taken a running run this long, in one piece, is more than worth knowing: no tool has more by default."""


def no_end(run: AgentRun) -> Iterator[Finding]:
    """That a run has no end, or that a part of one that has is open; nothing where all has ended."""
    leaves = run.trace.open_leaves()
    if not run.is_open or not run.trace.spans:
        yield from _left_open(leaves)
        return
    last = leaves[-1] if leaves else None
    begun = 0 if last is None else max(0, last.start_ns - run.start_ns)
    since = 0 if last is None else max(0, run.end_ns - last.start_ns)
    numbers: dict[str, Number] = {"open_spans": sum(span.is_open for span in run.trace.spans), "begun_ns": begun}
    running = run.state == "running"
    yield Finding(
        kind=FindingKind.NO_END,
        severity=Severity.ERROR if not running else Severity.WASTE if since >= LONG_NS else Severity.NOTE,
        title=_alive(last, begun, since) if running else _gone(run, last, begun, since),
        evidence=span_ids(span.key for span in reversed(leaves)),
        calls=indexes(call for call in run.calls if call.is_open),
        numbers={**numbers, "open_ns": since} if since else numbers,
        cost_ns=since or None,
        prevent=_to_end_it(run, last) if running else against_death(run, last),
        untold=() if running else untold(run, Gap.NO_STOP_REASON),
    )


def open_calls(run: AgentRun) -> set[int]:
    """Calls of a run without an end that are open: what is found about its end tells of them."""
    return {call.index for call in run.calls if call.is_open} if run.is_open else set()


def doing(span: StoredSpan) -> str:
    """What an open span stands for: ``execute_tool search (call_3)``."""
    short = span.name.removeprefix(f"{names.SCOPE}.")
    call = call_id(span)
    return f"{short} ({call})" if call else short


def _alive(last: StoredSpan | None, begun: int, since: int) -> str:
    if last is None:
        return "it still runs"
    return (
        f"it still runs, and has been in {doing(last)} for {nanoseconds_text(since)} now,"
        f" since {nanoseconds_text(begun)} into the run"
    )


def _gone(run: AgentRun, last: StoredSpan | None, begun: int, since: int) -> str:
    died = run.state == "died"
    said = "it died, its process is gone without an end of the run" if died else "no end is recorded"
    if last is None:
        return f"{said}: the last sign of life came"
    said += f": the last sign of life came while it was in {doing(last)}, begun {nanoseconds_text(begun)} into the run"
    said += f" and open {nanoseconds_text(since)} later" if since else ", and nothing came after it"
    settled = _settled(run, last)
    if settled is not None:
        return f"{said}; it {settled.text}"
    return f"{said}; it may have been applied" if last.text(names.EFFECT) == "write" else said


def _settled(run: AgentRun, last: StoredSpan) -> SettledWrite | None:
    """What somebody has found out of the write that it was in."""
    return next((call.settled for call in run.calls if last.key in call.spans), None)


def _to_end_it(run: AgentRun, last: StoredSpan | None) -> str:
    """How what a run does now would come to an end by itself."""
    if last is None:
        return ""
    if any(call.asked_span == last.key for call in run.calls):
        return "answer it; confirm_seconds= bounds the wait for a person"
    if last.operation == names.EXECUTE_TOOL:
        return f"where it hangs, a smaller timeout= of {last.text(names.GEN_AI_TOOL_NAME) or 'the tool'} ends it sooner"
    if last.operation == names.CHAT:
        return "where it hangs, request_seconds= ends the request sooner"
    return ""


def against_death(run: AgentRun, last: StoredSpan | None) -> str:
    """What can be done about a process that died in an open span, or in none that is known."""
    if last is not None and last.text(names.EFFECT) == "write" and _settled(run, last) is None:
        return "find out whether it was applied before anything is run again; give the tool a key"
    ended = "look for what ended the process (memory, a signal, a deploy); nothing in the trace says it"
    if last is None or last.operation != names.EXECUTE_TOOL:
        return ended
    return f"{ended}. If it was the tool: isolate='process' keeps it from taking the process with it"


def _left_open(leaves: list[StoredSpan]) -> Iterator[Finding]:
    """Spans without an end in a run that has one: an instrumentation that forgot them, or spans that were lost."""
    if leaves:
        doings = ", ".join(list(dict.fromkeys(doing(span) for span in leaves))[:3])
        yield Finding(
            kind=FindingKind.NO_END,
            severity=Severity.NOTE,
            title=f"{counted(len(leaves), 'span')} without an end in a run that has one: {doings}",
            evidence=span_ids(span.key for span in leaves),
            numbers={"open_spans": len(leaves)},
            prevent="end every span on every way out, cancellation included",
        )
