"""The facts of a run for the top of its page: why it stopped or what it does, its sums, how near its limits are."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.read.local_store import StoredRun
from traced_loop.read.receipt_counts import (
    ReceiptCounts,
    doubtful_writes,
    is_settled,
    noted_anomalies,
    receipt_parts,
    resolved_writes,
)
from traced_loop.read.run_entry import RunEntry, utc
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.span_tree import call_id
from traced_loop.read.spending import Spending, StoredLimit, limits, spending, used_of
from traced_loop.read.trace import StoredSpan
from traced_loop.rules.anomaly_table import ANOMALY_TABLE
from traced_loop.rules.budget import EACH, SHARED_PREFIX
from traced_loop.views.limit_amounts import limit_text
from traced_loop.views.span_words import doing
from traced_loop.web.typed_commands import command, going_on

_NEAR: Final = 0.8
"""From this part of a limit on its bar is marked."""
_WAITS: Final = " waits for a confirmation"
"""The end of such a run's detail, where nothing is said of why nobody has answered."""
MAX_SHOWN: Final = 20
"""Open spans, writes in doubt, and calls that wait, that are named."""
_ADDED: Final[Mapping[str, str]] = {
    StopReason.MAX_STEPS_EXCEEDED: "steps=5",
    StopReason.TOOL_BUDGET_EXCEEDED: "tool_calls=10",
    StopReason.TOKEN_BUDGET_EXCEEDED: "tokens=50000",
    StopReason.COST_BUDGET_EXCEEDED: "cost_usd=0.50",
    StopReason.DEADLINE_EXCEEDED: "seconds=300",
}
"""What a run that a limit stopped can go on with, for example."""


_WITHOUT_OUTCOME: Final = frozenset({StopReason.OUTCOME_UNKNOWN, StopReason.UNKNOWN_AFTER_CRASH})
"""Stops after which a run goes on once it is known what came of its writes."""


@frozen_value
class Doing:
    """One thing that a run is doing, or was, or may have done.

    Attributes:
        text: in the words of the trace.
        span_id: of its span.
        call_id: of the call that it is about, or ``""``.
        start_ns: when it began; 0 for unknown.
        into_ns: the same from the run's begin on.
    """

    text: str
    span_id: str
    call_id: str
    start_ns: int
    into_ns: int


@frozen_value
class Resolved:
    """A write of which nobody knew whether it happened, and somebody knows by now.

    Attributes:
        what: the write.
        state: what came of it, a word of ``Settled``.
        by: a person's name, ``reconcile`` or ``loop``.
        note: how they know, or ``""``.
        at: since when.
    """

    what: Doing
    state: str
    by: str
    note: str
    at: datetime | None


@frozen_value
class LimitBar:
    """How much of one limit is used.

    Attributes:
        name: as in ``Budget``, without the mark of a shared one.
        is_shared: it belongs to a budget of several runs.
        is_each: it is of one request or one call, and what is used is the longest.
        limit: with its unit.
        used: likewise; None for unknown.
        left: likewise.
        part: used of the limit, from 0 to 1; 0 for unknown.
        level: ``near`` and ``reached``, else ``free``.
        is_next: it would be hit first.
        is_unused: nothing has counted against it.
        since_ns: of the time of a run that goes on: nanoseconds since 1970 from which on it counts; else None.
        limit_ms: what ends then, in milliseconds; 0 for other limits.
    """

    name: str
    is_shared: bool
    is_each: bool
    limit: str
    used: str | None
    left: str | None
    part: float
    level: str
    is_next: bool
    is_unused: bool
    since_ns: int | None
    limit_ms: int


@frozen_value
class RunHeader:
    """The facts of one run.

    Attributes:
        entry: what the list of runs says of it.
        detail: why it stopped, in English, where that says more than its stop reason; ``""`` for nothing.
        advice: what a person can do now: ``add``, ``confirm``, ``resolve``, ``resume``, ``recover``, ``say_dead`` or
            ``""``.
        trace_ids: of the traces that it has, the newest first: one for each time that it was resumed, and the first.
        parent: the span of another program that called it, or ``""``.
        doing: open spans, the innermost ones.
        last_sign: the last sign of life of a run without an end that does not run, or whose process died.
        doubtful: writes of which nobody knows whether they happened.
        resolved: those of which somebody knows by now.
        waiting: ids of the calls that a person has to decide about.
        tools: names of those that its calls asked for, each once.
        spent: its sums.
        bars: of every limit.
        counts: what was recorded of it: of each trace, the first to begin first.
        repetitions: calls that repeated one of the step before.
        nudges: times that the model was told so.
        anomalies: what was odd in the model's answers, and what was made of it.
        left_out: open spans and writes, in doubt or not any more, that are not named.
    """

    entry: RunEntry
    detail: str
    advice: str
    trace_ids: tuple[str, ...]
    parent: str
    doing: tuple[Doing, ...]
    last_sign: datetime | None
    doubtful: tuple[Doing, ...]
    resolved: tuple[Resolved, ...]
    waiting: tuple[str, ...]
    tools: tuple[str, ...]
    spent: Spending
    bars: tuple[LimitBar, ...]
    counts: tuple[ReceiptCounts, ...]
    repetitions: int
    nudges: int
    anomalies: tuple[tuple[str, str], ...]
    left_out: int


def run_header(run: StoredRun, now_ns: int) -> RunHeader:
    """The facts of a stored run.

    Args:
        run: as the store has it.
        now_ns: the time, nanoseconds since 1970: what a run that goes on has used of its time.
    """
    entry, trace = run.entry, run.trace
    span, spent, begun = trace.run_span(), spending(trace), trace.begun_ns
    has_died = entry.seconds_at_least is not None and entry.state != "running"
    leaves = trace.open_leaves() if entry.state != "ended" else trace.left_leaves() if has_died else []
    doubtful, resolved = doubtful_writes(run), resolved_writes(run)
    stands_still = has_died or entry.state not in {"ended", "running"}
    return RunHeader(
        entry=entry,
        detail="" if is_settled(run) else _detail(entry),
        advice=_advice(entry, has_doubt=bool(doubtful), has_word=bool(resolved)),
        trace_ids=_trace_ids(run),
        parent=span.parent_id if span is not None and span.key[0] else "",
        doing=tuple(_doing(leaf, begun) for leaf in leaves[:MAX_SHOWN]),
        last_sign=utc(trace.last_ns) if stands_still else None,
        doubtful=tuple(_doing(each, begun) for each in doubtful[:MAX_SHOWN]),
        resolved=tuple(_resolved(each, settled, begun) for each, settled in resolved[:MAX_SHOWN]),
        waiting=_waiting(run),
        tools=_tools(run),
        spent=spent,
        bars=tuple(_bar(limit, spent, _active(run, now_ns)) for limit in limits(trace)),
        counts=receipt_parts(trace),
        repetitions=(span.count(names.RUN_REPETITIONS) if span is not None else None) or 0,
        nudges=sum(1 for stored in trace.spans if stored.attributes.get(names.NUDGED) is True),
        anomalies=tuple((str(each), ANOMALY_TABLE[each]) for each in noted_anomalies(trace)),
        left_out=sum(max(0, len(each) - MAX_SHOWN) for each in (leaves, doubtful, resolved)),
    )


def _detail(entry: RunEntry) -> str:
    """Of a run that waits for a person only what is said beside that it does."""
    detail = entry.stop_detail or ""
    return "" if entry.stop_reason == StopReason.CONFIRMATION_REQUIRED and detail.endswith(_WAITS) else detail


def _doing(span: StoredSpan, begun_ns: int) -> Doing:
    into = max(0, span.start_ns - begun_ns)
    return Doing(
        text=doing(span), span_id=span.span_id, call_id=call_id(span) or "", start_ns=span.start_ns, into_ns=into
    )


def _resolved(span: StoredSpan, settled: SettledWrite, begun_ns: int) -> Resolved:
    what = _doing(span, begun_ns)
    return Resolved(what=what, state=settled.state, by=settled.by, note=settled.note, at=utc(settled.at_ns))


def _trace_ids(run: StoredRun) -> tuple[str, ...]:
    runs = sorted((span for span in run.trace.spans if span.is_run), key=lambda span: -span.start_ns)
    of_run = [span.trace_id for span in runs if span.text(names.RUN_ID) == run.entry.run_id]
    return tuple(dict.fromkeys(each for each in (run.entry.trace_id, *of_run) if each))


def _waiting(run: StoredRun) -> tuple[str, ...]:
    """Of the last trace: what an earlier process asked about has been decided since."""
    newest = run.trace.run_span()
    if run.entry.stop_reason != StopReason.CONFIRMATION_REQUIRED or newest is None:
        return ()
    spans = (span for span in run.trace.spans if span.trace_id == newest.trace_id)
    asked = (call_id(span) for span in spans if span.text(names.CALL_OUTCOME) == Outcome.CONFIRMATION_REQUIRED)
    return tuple(dict.fromkeys(each for each in asked if each))[:MAX_SHOWN]


def _tools(run: StoredRun) -> tuple[str, ...]:
    """What a command needs to let it go on; calls of a tool that there is not are left out."""
    called = (
        span.text(names.GEN_AI_TOOL_NAME) or span.text(names.CALL_TOOL)
        for span in run.trace.spans
        if span.text(names.CALL_OUTCOME) != Outcome.UNKNOWN_TOOL
    )
    return tuple(dict.fromkeys(each for each in called if each))


def _advice(entry: RunEntry, *, has_doubt: bool, has_word: bool) -> str:
    if entry.state in {"died", "unknown"}:
        return "recover" if entry.state == "died" else "say_dead"
    if has_word and not has_doubt and entry.stop_reason in _WITHOUT_OUTCOME:
        return "resume"
    if has_doubt or entry.stop_reason == StopReason.OUTCOME_UNKNOWN:
        return "resolve"
    if entry.stop_reason == StopReason.CONFIRMATION_REQUIRED:
        return "confirm"
    return "add" if entry.stop_reason in _ADDED else ""


def _active(run: StoredRun, now_ns: int) -> tuple[float, int] | None:
    """What a run that goes on has used of its time, in seconds, and since when, in nanoseconds since 1970.

    None where it was stopped before, or a person was waited for.
    """
    span = run.trace.run_span()
    if run.entry.state != "running" or span is None or len(_trace_ids(run)) > 1:
        return None
    asked = any(
        names.CONFIRMATION_STATE in each.attributes or (each.is_open and each.name == names.AUTHORIZE_CALL)
        for each in run.trace.spans
    )
    return None if asked or not span.start_ns else (max(0, now_ns - span.start_ns) / 1e9, span.start_ns)


def _bar(limit: StoredLimit, spent: Spending, active: tuple[float, int] | None) -> LimitBar:
    used, since_ns = used_of(limit, spent), None
    if used is None and limit.name == "seconds" and active is not None:
        used, since_ns = active
    part = 0.0 if used is None or limit.limit <= 0 else min(1.0, max(0.0, used / limit.limit))
    left = limit.remaining if limit.remaining is not None else _left(limit, used)
    name = limit.name.removeprefix(SHARED_PREFIX)
    return LimitBar(
        name=name,
        is_shared=name != limit.name,
        is_each=name in EACH,
        limit=limit_text(name, limit.limit),
        used=None if used is None else limit_text(name, used),
        left=None if left is None else limit_text(name, left),
        part=part,
        level="reached" if part >= 1 else "near" if part >= _NEAR else "free",
        is_next=limit.is_next,
        is_unused=used == 0,
        since_ns=since_ns,
        limit_ms=0 if since_ns is None else round(limit.limit * 1000),
    )


def _left(limit: StoredLimit, used: float | None) -> float | None:
    return None if used is None else max(0.0, limit.limit - used)


def commands(header: RunHeader, folder: Path) -> Iterator[str]:
    """What to type to follow the advice, in the order of the steps; ``folder`` is that of the store."""
    run_id, reason = header.entry.run_id, header.entry.stop_reason or ""

    def resume(*more: str) -> str:
        return going_on(folder, "resume", run_id, *more, model=header.entry.model, tools=header.tools)

    if header.advice == "recover":
        yield command(folder, "recover", run_id)
        yield resume()
    elif header.advice == "say_dead":
        yield command(folder, "recover", run_id, "--dead")
    elif header.advice == "resolve":
        yield command(folder, "ledger", run_id)
        for call in dict.fromkeys(each.call_id for each in header.doubtful if each.call_id):
            yield command(folder, "resolve", run_id, call, "--done")
    elif header.advice == "resume":
        yield resume()
    elif header.advice == "confirm":
        for call in header.waiting or ("CALL",):
            yield resume("--confirm", call)
    elif header.advice == "add":
        yield resume("--add", _ADDED[reason])
