"""One line of the list of runs: out of the store's index, or out of the run's own span."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, Literal

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import StopReason
from traced_loop.read.spending import run_cost
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.records.process_identity import may_run

RunState = Literal["ended", "running", "died", "unknown"]
"""``died``: no end, and the process is gone. ``unknown``: no end, and nothing says whether its process is there."""
_STATES: Final[Mapping[bool | None, RunState]] = {True: "running", False: "died", None: "unknown"}

COLUMNS: Final = (
    "run_id, trace_id, agent, model, session_id, started_ns, ended_ns, stop_reason, stop_detail, steps, tool_calls,"
    " tokens, cost_microusd, flagged, process"
)
"""What ``from_row`` takes, in its order."""

_MICRO: Final = Decimal("0.000001")


@frozen_value
class RunEntry:
    """One run. None stands for unknown, never for zero.

    Attributes:
        run_id: unique, sorts by time.
        trace_id: 32 hexadecimal digits; of a resumed run the last one.
        agent: the name given to the loop, or ``""``.
        model: the requested model, or ``""``.
        session_id: the caller's, or None.
        started_at: UTC.
        ended_at: UTC; None unless the state is ``ended``.
        seconds: from start to end; None where the process died before the end, also once that is recovered.
        seconds_at_least: of such a run up to the last sign of its life: it may have gone on for hours; else None.
        stop_reason: None unless the state is ``ended``.
        stop_detail: one short sentence behind it, or None.
        steps: steps begun.
        tool_calls: calls executed.
        tokens: what counted against the token limit.
        cost_usd: exact to a millionth, rounded up.
        flagged: whether a repetition was flagged.
        state: whether it ended, still runs, or died with its process.
        open_span: of a run without an end, the innermost span without one: what it is doing, or was.
    """

    run_id: str
    trace_id: str = ""
    agent: str = ""
    model: str = ""
    session_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    seconds: float | None = None
    seconds_at_least: float | None = None
    stop_reason: str | None = None
    stop_detail: str | None = None
    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost_usd: Decimal | None = None
    flagged: bool = False
    state: RunState = "unknown"
    open_span: StoredSpan | None = None


def from_row(row: Sequence[Any]) -> RunEntry:
    """One row of the index, with the columns ``COLUMNS``. Asks the system whether the process of an open run lives."""
    run_id, trace_id, agent, model, session_id, started, ended, reason, detail, steps, calls, tokens, cost = row[:13]
    flagged, process = row[13:]
    state = state_of(ended, process)
    seconds, at_least = _lasted(started, ended, reason)
    return RunEntry(
        run_id=run_id,
        trace_id=trace_id,
        agent=agent,
        model=model,
        session_id=session_id,
        started_at=utc(started),
        ended_at=utc(ended),
        seconds=seconds,
        seconds_at_least=at_least,
        stop_reason=reason,
        stop_detail=detail,
        steps=steps,
        tool_calls=calls,
        tokens=tokens,
        cost_usd=None if cost is None else cost * _MICRO,
        flagged=bool(flagged),
        state=state,
    )


def state_of(ended_ns: int | None, process: str) -> RunState:
    """The state of a run by the end that the index has of it, and by its process, about which the system is asked."""
    return "ended" if ended_ns is not None else _STATES[may_run(process)]


def from_trace(run_id: str, trace: StoredTrace) -> RunEntry:
    """The same from the spans of a run; all unknown when its own span is missing."""
    span = trace.run_span()
    if span is None:
        started = utc(trace.begun_ns)
        trace_id = trace.spans[0].trace_id if trace.spans else ""
        return seen(RunEntry(run_id=run_id, trace_id=trace_id, started_at=started), trace.begun_ns, trace.last_ns)
    entry = RunEntry(
        run_id=run_id,
        trace_id=span.trace_id,
        agent=span.text(names.GEN_AI_AGENT_NAME) or "",
        model=span.text(names.GEN_AI_REQUEST_MODEL) or "",
        session_id=span.text(names.SESSION_ID),
        started_at=utc(span.start_ns),
    )
    return seen(entry, trace.begun_ns, trace.last_ns) if span.is_open else ended(entry, span)


def ended(entry: RunEntry, span: StoredSpan) -> RunEntry:
    """The entry with what the run's own ended span says."""
    reason = span.text(names.RUN_STOP_REASON)
    seconds, at_least = _lasted(span.start_ns, span.end_ns, reason)
    return replace(
        entry,
        ended_at=utc(span.end_ns),
        seconds=seconds,
        seconds_at_least=at_least,
        stop_reason=reason,
        stop_detail=span.text(names.RUN_STOP_DETAIL),
        steps=span.count(names.RUN_STEPS),
        tool_calls=span.count(names.RUN_TOOL_CALLS),
        tokens=span.count(names.RUN_TOKENS),
        cost_usd=run_cost(span),
        flagged=span.attributes.get(names.RUN_FLAGGED) is True,
        state="ended",
    )


def seen(entry: RunEntry, begun_ns: int, last_ns: int) -> RunEntry:
    """An entry without an end, of which nothing shows that it runs, with the time up to its last sign of life."""
    if entry.state in {"ended", "running"} or not begun_ns:
        return entry
    return replace(entry, seconds_at_least=_seconds(begun_ns, last_ns))


def utc(time_ns: int | None) -> datetime | None:
    """The time, exact to a microsecond; None for 0, for None, and for what no calendar holds."""
    if not time_ns:
        return None
    try:
        return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).replace(
            microsecond=time_ns % 1_000_000_000 // 1000
        )
    except (ValueError, OverflowError, OSError):
        return None


def _lasted(started_ns: int, ended_ns: int | None, reason: str | None) -> tuple[float | None, float | None]:
    """How long a run took, and how long at least: a recovered one ends with its last sign of life, not when it died."""
    seconds = _seconds(started_ns, ended_ns)
    return (None, seconds) if reason == StopReason.UNKNOWN_AFTER_CRASH else (seconds, None)


def _seconds(started_ns: int, ended_ns: int | None) -> float | None:
    return None if ended_ns is None or ended_ns < started_ns else (ended_ns - started_ns) / 1e9
