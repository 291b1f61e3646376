"""A stored run in a few lines: why it stopped, what it spent, how far it was from its limits, what it was doing."""

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from traced_loop import names
from traced_loop.amount_text import (
    UNKNOWN,
    cost_text,
    count_text,
    counted,
    least_text,
    nanoseconds_text,
    seconds_text,
    time_text,
)
from traced_loop.read.local_store import StoredRun
from traced_loop.read.receipt_counts import (
    doubtful_writes,
    is_settled,
    noted_anomalies,
    receipt_counts,
    receipt_parts,
    resolved_writes,
)
from traced_loop.read.run_entry import RunEntry, utc
from traced_loop.read.spending import Spending, StoredLimit, limits, spending, used_of
from traced_loop.read.trace import Problem
from traced_loop.rules.anomaly_table import ANOMALY_TABLE
from traced_loop.rules.budget import EACH
from traced_loop.views.limit_amounts import limit_text
from traced_loop.views.lines import BAD, ODD, QUIET, labelled, word
from traced_loop.views.span_words import doing, style_of

COLUMN: Final = 11
"""Cells of the labels."""
BAR: Final = 16
"""Cells of a bar."""
_NEAR: Final = 0.8
"""From this part of a limit on its bar is coloured."""
_NAME: Final = 10
"""Cells of a limit's name at least."""
_SHOWN_PROBLEMS: Final = 10

_NO_END: Final = {
    "running": ("still running", ODD),
    "died": ("died: no end is recorded, and the process is gone", BAD),
    "unknown": ("no end is recorded; whether its process still runs is not known", ODD),
}

Row = tuple[str, list[Text]]
"""A label, and the words beside it."""


def header(run: StoredRun, *, width: int | None = None, now_ns: int | None = None) -> list[Text]:
    """The facts of a run, one label a line.

    Args:
        run: as the store has it.
        width: cells of a line, or None for one line per label.
        now_ns: the time, for how long a running run has been at what it does; None leaves that out.
    """
    spent = spending(run.trace)
    rows = [
        *_identity(run.entry, is_settled=is_settled(run)),
        *_times(run),
        *_doing(run, now_ns),
        *_unknown(run),
        *_spent(spent),
    ]
    found = limits(run.trace)
    names_width = max([_NAME, *(len(limit.name) for limit in found)])
    for n, limit in enumerate(found):
        rows.append(("budget" if n == 0 else "", _limit(limit, spent, names_width)))
    rows += [*_receipt(run), *_repeated(run), *_anomalies(run)]
    return [line for label, words in rows for line in labelled(label, words, width=width, column=COLUMN)]


def problems(found: tuple[Problem, ...], *, width: int | None = None, full: bool = False) -> list[Text]:
    """What was wrong with the input; the first few unless ``full``."""
    shown = found if full else found[:_SHOWN_PROBLEMS]
    lines = [
        line
        for problem in shown
        for line in labelled("problem", [word(f"{problem.kind}: {problem.text}", ODD)], width=width, column=COLUMN)
    ]
    if len(shown) < len(found):
        more = f"{len(found) - len(shown)} more problems; --full shows all"
        lines += labelled("", [word(more, ODD)], width=width, column=COLUMN)
    return lines


def _identity(entry: RunEntry, *, is_settled: bool) -> Iterator[Row]:
    yield "run", [word(entry.run_id, "bold")]
    yield "trace", [word(entry.trace_id or "unknown")]
    given = (("model", entry.model), ("session", entry.session_id))
    yield "agent", [word(entry.agent or "unknown"), *(word(f"{label} {value}") for label, value in given if value)]
    if entry.state == "ended":
        reason = entry.stop_reason or "unknown"
        # What it says of a write that nobody knew is not true any more.
        said = "what was unknown is known by now" if is_settled else entry.stop_detail
        detail = f": {said}" if said else ""
        yield "stopped", [word(f"{reason}{detail}", style_of(reason))]
    else:
        text, style = _NO_END[entry.state]
        yield "state", [word(text, style)]


def _times(run: StoredRun) -> Iterator[Row]:
    entry = run.entry
    words = [word(time_text(entry.started_at))]
    least = entry.seconds_at_least
    if entry.state == "ended" or least is not None:
        words.append(word(f"took {seconds_text(entry.seconds) if least is None else least_text(least)}"))
    yield "began", words
    span = run.trace.run_span()
    if span is not None and span.parent_id and span.key[0]:
        yield "called by", [word(f"span {span.parent_id} of the same trace, outside of this store")]


def _doing(run: StoredRun, now_ns: int | None) -> Iterator[Row]:
    """Of a run without an end, and of one that a recovery has ended: that knows no more of the end than was known."""
    if run.entry.state == "ended" and run.entry.seconds_at_least is None:
        return
    leaves, begun, last = run.trace.open_leaves() or run.trace.left_leaves(), run.trace.begun_ns, run.trace.last_ns
    running = run.entry.state == "running"
    for n, span in enumerate(leaves):
        words = [word(doing(span), "bold"), word(f"begun {nanoseconds_text(span.start_ns - begun)} into the run")]
        if running and now_ns is not None:
            words.append(word(f"for {nanoseconds_text(now_ns - span.start_ns)} now"))
        elif last > span.start_ns:
            words.append(word(f"still at it {nanoseconds_text(last - span.start_ns)} later"))
        yield ("" if n else "is doing" if running else "was doing"), words
    if not running and last:
        text = f"{time_text(utc(last))}, {nanoseconds_text(last - begun)} into the run; nothing was recorded after it"
        yield "last sign", [word(text)]


def _unknown(run: StoredRun) -> Iterator[Row]:
    for span in doubtful_writes(run):
        yield "unknown", [word(f"{doing(span)} may have been applied", BAD)]
    for span, settled in resolved_writes(run):
        yield "resolved", [word(f"{doing(span)} {settled.text}")]


def _spent(spent: Spending) -> Iterator[Row]:
    failed = f", {count_text(spent.failed_tool_calls)} failed" if spent.failed_tool_calls else ""
    done = ", ".join((counted(spent.steps, "step"), counted(spent.model_requests, "request")))
    done = f"{done}, {counted(spent.tool_calls, 'tool call')}{failed}"
    yield "used", [word(done), word("so far", QUIET)] if spent.so_far else [word(done)]
    parts = {"cached": spent.cached_tokens, "written to the cache": spent.cache_write_tokens}
    told = ", ".join(f"{count_text(count)} {what}" for what, count in parts.items() if count)
    cached = f" ({told})" if told else ""
    reasoning = f" ({count_text(spent.reasoning_tokens)} reasoning)" if spent.reasoning_tokens else ""
    split = f"{count_text(spent.input_tokens)} in{cached}, {count_text(spent.output_tokens)} out{reasoning}"
    told = f"about {count_text(spent.tokens)} (estimated)" if spent.estimated else count_text(spent.tokens)
    if spent.tokens == 0 and spent.model_requests:  # none was answered
        told, split = UNKNOWN, f"{UNKNOWN} in, {UNKNOWN} out"
    yield "tokens", [word(f"{told}: {split}")]
    source = f"({spent.cost_source})" if spent.cost_source and spent.cost_usd is not None else ""
    if source and spent.cost_is_upper_bound:
        source = f"at most {source}"
    yield "cost", [word(cost_text(spent.cost_usd)), *([word(source, QUIET)] if source else [])]


def _limit(limit: StoredLimit, spent: Spending, names_width: int) -> list[Text]:
    used = used_of(limit, spent)
    part = 0.0 if used is None or limit.limit <= 0 else used / limit.limit
    style = BAD if part >= 1 else ODD if part >= _NEAR else ""
    words = [
        word(limit.name.ljust(names_width)),
        word(_bar(part), style),
        word(_used(limit, used)),
    ]
    return [*words, word("next limit", ODD)] if limit.is_next else words


def _used(limit: StoredLimit, used: float | None) -> str:
    """What is used of a limit; of one that nothing was under, that: a tool with a timeout of its own is not."""
    most = limit_text(limit.name, limit.limit)
    if limit.name in EACH and used == 0:
        return f"no {'request' if limit.name == 'request_seconds' else 'call'} under its {most}"
    return f"{limit_text(limit.name, used)} of {most}"


def _bar(part: float) -> str:
    # A limit that is touched at all shows, and one that is not yet reached never looks full.
    filled = BAR if part >= 1 else min(BAR - 1, max(1, round(part * BAR))) if part > 0 else 0
    return f"[{'#' * filled}{'.' * (BAR - filled)}]"


def _receipt(run: StoredRun) -> Iterator[Row]:
    counts, parts = receipt_counts(run.trace), receipt_parts(run.trace)
    of_all = f"{count_text(len(run.trace.spans))} here in {len(parts)} traces; of the last " if len(parts) > 1 else ""
    if counts.started is None:
        yield "spans", [word(f"{of_all}{count_text(counts.here)} here")]
        return
    words = [word(f"{of_all}{count_text(counts.started)} started, {count_text(counts.here)} here")]
    if counts.missing:
        words.append(word(f"{count_text(counts.missing)} missing", BAD))
    yield "spans", [*words, word(f"{counted(counts.cut, 'value')} cut, {count_text(counts.masked)} masked", QUIET)]


def _repeated(run: StoredRun) -> Iterator[Row]:
    span = run.trace.run_span()
    repetitions = span.count(names.RUN_REPETITIONS) if span is not None else None
    if repetitions:
        yield "repeated", [word(f"{counted(repetitions, 'call')} repeated one of the step before", ODD)]
    nudges = sum(1 for stored in run.trace.spans if stored.attributes.get(names.NUDGED) is True)
    if nudges:
        yield "nudged", [word(counted(nudges, "time"), ODD)]


def _anomalies(run: StoredRun) -> Iterator[Row]:
    """What was odd in the model's answers, and what was done with it."""
    for n, each in enumerate(noted_anomalies(run.trace)):
        yield "odd" if n == 0 else "", [word(f"{each}: {ANOMALY_TABLE[each]}", ODD)]
