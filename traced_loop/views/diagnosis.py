"""A diagnosis as lines, a page for one run and an overview of many, and as a JSON value for programs."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import cost_text, count_text, counted, least_text, nanoseconds_text
from traced_loop.diagnose.diagnosis import Diagnosis
from traced_loop.diagnose.finding import Finding, Number
from traced_loop.diagnose.time_books import Piece, TimeBooks, TimeKind
from traced_loop.diagnose.token_books import BilledRequest, PartKind, by_kind
from traced_loop.views.diagnosis_overview import COLUMN, STYLES, Overview
from traced_loop.views.lines import GOOD, ODD, QUIET, labelled, packed, word
from traced_loop.views.span_words import doing, verdict

_DEAREST: Final = 3
"""Steps that are named for what they cost."""
MAX_FINDINGS: Final = 24
"""Findings on one page; what is left out is counted."""
MAX_PAGES: Final = 5
"""From more runs than these on there is one line per run."""
_HEADINGS: Final[Mapping[str, str]] = {
    TimeKind.HARNESS: "the loop itself",
    TimeKind.CONFIRMATION: "a person",
    TimeKind.DOWNTIME: "stopped until it was resumed",
    TimeKind.FAILED_TRY: "failed tries",
    PartKind.REWRITTEN: "rewritten history",
    PartKind.ANSWER: "earlier answers",
    PartKind.RESULT: "tool results",
    PartKind.MESSAGE: "later messages",
    PartKind.RETRY: "failed tries",
}
"""Where the word of the closed list does not say enough to a reader."""


def diagnosis_lines(diagnoses: Iterable[Diagnosis], *, width: int | None = None) -> list[Text]:
    """A page for each run, or an overview where there are many; each is looked at once, and then let go."""
    pages: list[Text] = []
    overview = Overview()
    for diagnosis in diagnoses:
        overview.add(diagnosis)
        if overview.runs > MAX_PAGES:
            pages.clear()
            continue
        page = list(_page(diagnosis, width))
        pages += [Text()] if pages and (len(page) > 1 or len(pages) >= overview.runs) else []
        pages += page
    return pages or overview.lines(width)


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """One run as one JSON value; what is unknown is null, times are nanoseconds."""
    run = diagnosis.run
    return {
        "id": run.id,
        "findings": [_finding_json(finding) for finding in diagnosis.findings],
        "healthy": diagnosis.is_healthy,
        "paused": diagnosis.is_paused,
        "state": run.state if run.is_open else "ended",
        "dialect": run.dialect,
        "stop_reason": run.stop_reason,
        "duration_ns": diagnosis.time.duration_ns if diagnosis.time.is_whole else None,
        "duration_at_least_ns": None if diagnosis.time.is_whole else diagnosis.time.duration_ns,
        "time_ns": {str(kind): amount for kind, amount in diagnosis.time.wall_ns.items()},
        "input_tokens": diagnosis.tokens.input_tokens,
        "output_tokens": diagnosis.tokens.output_tokens,
        "tokens": {str(kind): carried for kind, carried, _ in by_kind(diagnosis.tokens)},
        "cost_usd": _plain(diagnosis.cost_usd),
        "steps": [_step_json(billed) for billed in _by_step(diagnosis)],
        "price_tables": list(diagnosis.tokens.tables),
        "untold": list(diagnosis.gaps),
        "settled_writes": [each.json() for each in dict.fromkeys(call.settled for call in run.calls) if each],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "title": finding.title,
        "evidence": list(finding.evidence),
        "calls": list(finding.calls),
        "numbers": {name: _plain(number) for name, number in finding.numbers.items()},
        "cost_ns": finding.cost_ns,
        "cost_usd": _plain(finding.cost_usd),
        "cost_tokens": finding.cost_tokens,
        "prevent": finding.prevent or None,
        "at_call": finding.at_call,
        "reaction": finding.reaction,
        "untold": list(finding.untold),
    }


def _plain(number: Number | None) -> int | float | None:
    return float(number) if isinstance(number, Decimal) else number


def _page(diagnosis: Diagnosis, width: int | None) -> Iterator[Text]:
    if not diagnosis.findings:
        yield from packed(_judged(diagnosis), [*_facts(diagnosis), *_longest(diagnosis)], width=width, indent=COLUMN)
        return
    head = _judged(diagnosis)
    head.append(" " * (COLUMN - head.cell_len))
    yield from packed(head, _facts(diagnosis), width=width, indent=COLUMN)
    if times := [*_time(diagnosis), *_longest(diagnosis)]:
        yield from labelled("time", times, width=width, column=COLUMN)
    if tokens := list(_tokens(diagnosis)):
        yield from labelled("paid for", tokens, width=width, column=COLUMN)
    if dearest := list(_dearest(diagnosis)):
        yield from labelled("dearest", dearest, width=width, column=COLUMN)
    if diagnosis.gaps:
        untold = [word(gap.replace("_", " "), QUIET) for gap in diagnosis.gaps]
        yield from labelled("not told", untold, width=width, column=COLUMN)
    shown = diagnosis.findings[:MAX_FINDINGS]
    for n, finding in enumerate(shown, 1):
        yield from _finding(n, finding, width)
    if left := len(diagnosis.findings) - len(shown):
        yield word(f"{count_text(left)} more; --json has all", QUIET)


def _judged(diagnosis: Diagnosis) -> Text:
    """What is said before everything else: nobody knows of a run without a stop reason that it is healthy."""
    if diagnosis.is_paused:
        return word("paused", ODD)
    if not diagnosis.is_healthy or diagnosis.run.state != "unknown":
        return word("run")
    return word("healthy" if diagnosis.run.stop_reason else "no fault", GOOD)


def _finding(n: int, finding: Finding, width: int | None) -> Iterator[Text]:
    head = word(f"{n} {finding.severity}".ljust(COLUMN), STYLES[finding.severity])
    yield from packed(head, [word(f"{finding.kind}: {finding.title}", "bold")], width=width, indent=COLUMN)
    if finding.prevent:
        yield from labelled("  prevent", [word(finding.prevent)], width=width, column=COLUMN)
    if finding.evidence or finding.calls:
        more = [word(f"call {index}", QUIET) for index in finding.calls[:3]]
        spans = [word(span_id, QUIET) for span_id in finding.evidence[:4]]
        rest = len(finding.evidence) - len(spans)
        spans += [word(f"and {rest} more", QUIET)] if rest > 0 else []
        yield from labelled("  evidence", [*spans, *more], width=width, column=COLUMN)
    if finding.numbers:
        numbers = [word(f"{name} {_exact(number)}", QUIET) for name, number in finding.numbers.items()]
        yield from labelled("  numbers", numbers, width=width, column=COLUMN)


def _exact(number: Number) -> str:
    """A number as it is: nanoseconds, tokens and millionths of a USD are not rounded."""
    if isinstance(number, Decimal):
        return f"{number.normalize():f}"
    return f"{number:.6g}" if isinstance(number, float) else str(number)


def _facts(diagnosis: Diagnosis) -> list[Text]:
    run, tokens = diagnosis.run, diagnosis.tokens
    steps = max((request.step for request in run.requests if not request.is_last), default=0)
    last = " and a last request" if any(request.is_last for request in run.requests) else ""
    no_end = {"running": "still running", "died": "died"}.get(run.state, "no end")
    ended = verdict(run.stop_reason) if run.stop_reason else word(no_end if run.is_open else "stop reason unknown", ODD)
    source = f" ({', '.join(tokens.tables)})" if tokens.tables else ""
    sums = f"{count_text(tokens.input_tokens)} in, {count_text(tokens.output_tokens)} out"
    if tokens.uncounted and tokens.billed:
        sums = f"{sums} without all of {counted(len(tokens.uncounted), 'request')}"
    return [
        word(run.id, "bold"),
        ended,
        *([word("waits for a person", ODD)] if diagnosis.is_paused else []),
        word(f"{counted(steps, 'step')}{last}"),
        word(_lasted(diagnosis.time)),
        word(f"{sums} tokens"),
        word(f"cost {cost_text(diagnosis.cost_usd)}{source}"),
    ]


def _lasted(books: TimeBooks) -> str:
    if not books.duration_ns:
        return "no times"
    if not books.is_whole:
        return f"took {least_text(books.duration_ns / 1e9)}"
    own = f" ({nanoseconds_text(books.active_ns)} its own)" if books.active_ns != books.duration_ns else ""
    return f"{nanoseconds_text(books.duration_ns)}{own}"


def _time(diagnosis: Diagnosis) -> Iterator[Text]:
    books = diagnosis.time
    for kind, amount in sorted(books.wall_ns.items(), key=lambda pair: -pair[1]):
        if amount:
            share = f" ({round(100 * amount / books.duration_ns) or '<1'} %)" if books.is_whole else ""
            yield word(f"{_said(kind)} {nanoseconds_text(amount)}{share}")
    if not books.is_whole and books.duration_ns:
        left = diagnosis.run.trace.left_leaves()
        yield word(f"then {doing(left[-1])}, nobody knows how long" if left else "then nobody knows what")


def _said(kind: str) -> str:
    """A heading of the books in words."""
    return _HEADINGS.get(kind) or kind.replace("_", " ")


def _longest(diagnosis: Diagnosis) -> Iterator[Text]:
    longest = diagnosis.time.longest()
    if longest is not None:
        yield word(f"longest wait {nanoseconds_text(longest.wall_ns)}: {_waited_for(diagnosis, longest)}")


def _waited_for(diagnosis: Diagnosis, piece: Piece) -> str:
    kind = _said(piece.kind)
    if piece.call is not None:
        call = diagnosis.run.calls[piece.call]
        return f"{kind} {call.tool} {call.call_id}".rstrip()
    if piece.request is not None:
        return f"{kind}, step {diagnosis.run.requests[piece.request].step}"
    return kind


def _tokens(diagnosis: Diagnosis) -> Iterator[Text]:
    for kind, carried, cost in sorted(by_kind(diagnosis.tokens), key=lambda part: -part[1]):
        yield word(f"{_said(kind)} {count_text(carried)}{f' ({cost_text(cost)})' if cost is not None else ''}")


def _by_step(diagnosis: Diagnosis) -> list[BilledRequest]:
    """Every request with counts, in the order of time."""
    every = [billed for chain in diagnosis.tokens.billed for billed in chain]
    return sorted(every, key=lambda billed: (billed.request.start_ns, billed.request.step))


def _dearest(diagnosis: Diagnosis) -> Iterator[Text]:
    """The steps that cost most, where there are more than are shown."""
    every = _by_step(diagnosis)
    if len(every) <= _DEAREST:
        return
    every.sort(key=lambda billed: (-(billed.cost_usd or 0), -billed.input - billed.output, billed.request.step))
    for billed in every[:_DEAREST]:
        cost = f" {cost_text(billed.cost_usd)}" if billed.cost_usd is not None else ""
        cached = f" ({count_text(billed.cached)} cached)" if billed.cached else ""
        sums = f"{count_text(billed.input)} in{cached}, {count_text(billed.output)} out"
        yield word(f"step {billed.request.step}:{cost} {sums}")


def _step_json(billed: BilledRequest) -> dict[str, Any]:
    return {
        "step": billed.request.step,
        "input_tokens": billed.input,
        "cached_tokens": billed.cached,
        "output_tokens": billed.output,
        "cost_usd": _plain(billed.cost_usd),
    }
