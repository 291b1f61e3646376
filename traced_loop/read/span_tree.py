"""Spans as they were read become a tree: each in its place, whatever is missing, doubled or in a circle.

Everything is linear in the number of spans (sorting apart), and nothing recurses: depth is the input's to choose.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from traced_loop import names
from traced_loop.read.trace import COUNTED, Problem, ProblemKind, SpanKey, StoredSpan, StoredTrace, is_uncountable

MAX_SPAN_IDS: Final = 16
"""Span ids named by one problem."""
MAX_ID: Final = 32
"""Characters of an id that is shown: longer ones are none, and can be anything."""


def build(spans: Iterable[StoredSpan], problems: Sequence[Problem] = ()) -> StoredTrace:
    """Put spans into a tree.

    A start without an end gives way to the whole span of the same id. A run whose parent is missing is no problem:
    an application that traces itself keeps the parent elsewhere.

    Args:
        spans: in any order, of any number of traces.
        problems: what the reader found before; they come first.
    """
    found = list(problems)
    kept = _without_duplicates(spans, found)
    parents = _parents(kept, found)
    _break_cycles(kept, parents, found)
    _check_times(kept, parents, found)
    _check_numbers(kept, found)
    children, roots = _ordered(kept, parents)
    return StoredTrace(spans=tuple(kept), parents=tuple(parents), children=children, roots=roots, problems=tuple(found))


def _without_duplicates(spans: Iterable[StoredSpan], problems: list[Problem]) -> list[StoredSpan]:
    given = list(spans)
    ended = {span.key for span in given if not span.is_open}
    kept: list[StoredSpan] = []
    first: dict[SpanKey, StoredSpan] = {}
    seen: dict[SpanKey, set[str]] = {}
    dropped: dict[SpanKey, int] = {}
    for span in given:
        key = span.key
        if span.is_open and key in ended:
            continue
        if span.span_id and key in first:  # without an id nothing can be called the same
            contents = seen.setdefault(key, {_content(first[key])})
            if (content := _content(span)) in contents:
                dropped[key] = dropped.get(key, 0) + 1
                continue
            contents.add(content)
        first.setdefault(key, span)
        kept.append(span)
    _report_doubles(dropped, seen, problems)
    return kept


def _report_doubles(dropped: Mapping[SpanKey, int], seen: Mapping[SpanKey, set[str]], problems: list[Problem]) -> None:
    if dropped:
        text = f"exact duplicates were dropped: {sum(dropped.values())}, of {len(dropped)} different spans"
        problems.append(_problem(ProblemKind.DUPLICATE, text, [span_id for _, span_id in dropped]))
    for (_, span_id), contents in seen.items():
        if len(contents) > 1:
            text = f"span {span_id[:MAX_ID]} is there {len(contents)} times with different content; all are shown"
            problems.append(_problem(ProblemKind.CONFLICT, text, [span_id]))


def _content(span: StoredSpan) -> str:
    """A text that is equal for equal spans, NaN and the order of attributes included: spans cannot be hashed."""
    plain = replace(span, attributes={}, scope="", resource={})
    return f"{plain!r}{sorted(span.attributes.items(), key=lambda pair: pair[0])!r}"


def _parents(spans: Sequence[StoredSpan], problems: list[Problem]) -> list[int | None]:
    places: dict[SpanKey, int] = {}
    for n, span in enumerate(spans):
        if span.span_id:
            places.setdefault(span.key, n)
    parents: list[int | None] = []
    for span in spans:
        parent = places.get((span.trace_id, span.parent_id)) if span.parent_id else None
        if span.parent_id and parent is None and not span.is_run:
            above = span.parent_id[:MAX_ID]
            text = f"span {span.span_id[:MAX_ID]} ({span.name}) has the parent {above}, which is not here"
            problems.append(_problem(ProblemKind.ORPHAN, text, [span.span_id, span.parent_id]))
        parents.append(parent)
    return parents


def _check_numbers(spans: Sequence[StoredSpan], problems: list[Problem]) -> None:
    odd = [
        (span.span_id, key)
        for span in spans
        for key, value in span.attributes.items()
        if (type(value) is int or type(value) is float) and is_uncountable(value) and COUNTED.search(key)
    ]
    if odd:
        keys = ", ".join(dict.fromkeys(key[:80] for _, key in odd[:MAX_SPAN_IDS]))
        text = f"numbers that nothing can count are taken as unknown: {len(odd)}, of {keys}"
        problems.append(_problem(ProblemKind.ODD_VALUE, text, list(dict.fromkeys(span_id for span_id, _ in odd))))


def _break_cycles(spans: Sequence[StoredSpan], parents: list[int | None], problems: list[Problem]) -> None:
    """Make the earliest span of each circle a root. Each span is visited once."""
    walked_by = [-1] * len(spans)
    for first in range(len(spans)):
        path: list[int] = []
        at: int | None = first
        while at is not None and walked_by[at] == -1:
            walked_by[at] = first
            path.append(at)
            at = parents[at]
        if at is not None and walked_by[at] == first:
            circle = path[path.index(at) :]
            earliest = min(circle, key=lambda n: (spans[n].start_ns, n))
            parents[earliest] = None
            ids = [spans[n].span_id for n in circle]
            top = spans[earliest].span_id[:MAX_ID]
            text = f"{len(circle)} spans are each other's ancestors; {top} is shown as a root"
            problems.append(_problem(ProblemKind.CYCLE, text, ids))


def _check_times(spans: Sequence[StoredSpan], parents: Sequence[int | None], problems: list[Problem]) -> None:
    for n, span in enumerate(spans):
        if not span.is_open and span.end_ns < span.start_ns:
            text = f"span {span.span_id[:MAX_ID]} ({span.name}) ends {span.start_ns - span.end_ns} ns before it starts"
            problems.append(_problem(ProblemKind.NEGATIVE_DURATION, text, [span.span_id]))
        above = parents[n]
        if above is not None and 0 < span.start_ns < spans[above].start_ns:
            early = spans[above].start_ns - span.start_ns
            parent = spans[above].span_id[:MAX_ID]
            text = f"span {span.span_id[:MAX_ID]} ({span.name}) starts {early} ns before its parent {parent}"
            problems.append(_problem(ProblemKind.STARTS_BEFORE_PARENT, text, [span.span_id, spans[above].span_id]))


def _ordered(
    spans: Sequence[StoredSpan], parents: Sequence[int | None]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Children of each span and the roots, in order: one sort of all, then each goes to its parent."""
    indexes: dict[tuple[int | None, str], int] = {}
    for n, span in enumerate(spans):
        index, call = span.count(names.CALL_INDEX), call_id(span)
        if index is not None and call:
            indexes[parents[n], call] = index

    def place(n: int) -> tuple[int, int, int]:
        return spans[n].start_ns, indexes.get((parents[n], call_id(spans[n]) or ""), 0), n

    children: list[list[int]] = [[] for _ in spans]
    roots: list[int] = []
    for n in sorted(range(len(spans)), key=place):
        above = parents[n]
        (roots if above is None else children[above]).append(n)
    return tuple(map(tuple, children)), tuple(roots)


def call_id(span: StoredSpan) -> str | None:
    """The call that a span is about, or None."""
    return span.text(names.GEN_AI_TOOL_CALL_ID) or span.text(names.CALL_ID)


def _problem(kind: ProblemKind, text: str, span_ids: Sequence[str]) -> Problem:
    return Problem(kind=kind, text=text, span_ids=tuple(span_id[:MAX_ID] for span_id in span_ids[:MAX_SPAN_IDS]))
