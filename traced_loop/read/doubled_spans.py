"""Spans that show the same request or the same call: two instrumentations of one application, or a wrapper's sum.

They stand one inside of the other (a framework's span around its client's), or beside each other. Each is counted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.span_facts import CallFacts, RequestFacts, SpanFacts
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan, StoredTrace

MAX_SPAN_IDS: Final = 16
"""Span ids named by one problem."""


@frozen_value
class ShownRequest:
    """One request.

    Attributes:
        position: of the span that counts.
        facts: what it says, filled with what the others know.
        others: positions of the other spans that show it.
        tries: positions of spans of single tries, by start; empty where one was enough.
    """

    position: int
    facts: RequestFacts
    others: tuple[int, ...] = ()
    tries: tuple[int, ...] = ()


@frozen_value
class ShownCall:
    """One tool that ran; the fields mean what they mean of a request."""

    position: int
    facts: CallFacts
    others: tuple[int, ...] = ()


def shown_requests(
    trace: StoredTrace, facts: Sequence[SpanFacts | None], positions: Sequence[int], problems: list[Problem]
) -> list[ShownRequest]:
    """The requests among these spans, by start. What was counted once, or was a sum, is appended to ``problems``."""
    own = {n: found.request for n in positions if (found := facts[n]) is not None and found.request is not None}
    inside = _inside(trace, facts, positions, own)
    sums = _sums(trace, inside, own)
    problems.extend(roll_up(trace.spans[outer]) for outer in sums if own[outer].has_usage)
    inner_ones = {n for outer, inner in inside.items() if outer not in sums for n in inner}
    merged = [_merged(trace, own, n, inside) for n in own if n not in inner_ones and n not in sums]
    merged.sort(key=lambda shown: (trace.spans[shown.position].start_ns, shown.position))
    kept = _without_siblings(trace, merged)
    _say_doubled(trace, "requests", [(shown.position, *shown.others) for shown in kept if shown.others], problems)
    return kept


def shown_calls(
    trace: StoredTrace, facts: Sequence[SpanFacts | None], positions: Sequence[int], problems: list[Problem]
) -> list[ShownCall]:
    """The tools that ran among these spans, by start."""
    own = {n: found.call for n in positions if (found := facts[n]) is not None and found.call is not None}
    inside = _inside(trace, facts, positions, own)
    others: dict[int, list[int]] = {}
    for outer, inner in inside.items():
        same = [n for n in inner if own[n].tool == own[outer].tool and _may_be_one(own[outer], own[n])]
        if len(same) == 1:
            others[outer] = same
    hidden = {n for inner in others.values() for n in inner}
    chains = {n: _chain(n, others) for n in own if n not in hidden}
    merged = [_merged_call(own, n, inner) for n, inner in chains.items()]
    merged.sort(key=lambda shown: (trace.spans[shown.position].start_ns, shown.position))
    kept = _without_sibling_calls(trace, merged)
    _say_doubled(trace, "calls", [(shown.position, *shown.others) for shown in kept if shown.others], problems)
    return kept


def _inside(
    trace: StoredTrace, facts: Sequence[SpanFacts | None], positions: Sequence[int], own: Mapping[int, object]
) -> dict[int, list[int]]:
    """Of each span those of its kind right inside of it: with nothing between them that an agent does.

    ``positions`` come parents first, so each span knows its nearest one above by its parent's.
    """
    found: dict[int, list[int]] = {}
    nearest: dict[int, int | None] = {}
    for position in positions:
        above = trace.parents[position]
        if above is not None and facts[above] is None:
            above = nearest.get(above)
        nearest[position] = above
        if position in own and above is not None and above in own:
            found.setdefault(above, []).append(position)
    return found


def _chain(position: int, others: Mapping[int, list[int]]) -> list[int]:
    """All that stand inside of each other below one."""
    found: list[int] = []
    waiting = list(others.get(position, ()))
    while waiting:
        inner = waiting.pop()
        found.append(inner)
        waiting.extend(others.get(inner, ()))
    return found


def _sums(trace: StoredTrace, inside: Mapping[int, Sequence[int]], own: Mapping[int, RequestFacts]) -> list[int]:
    """The spans around more than one answered request, and those around such a span only."""
    found: dict[int, None] = {}
    for outer in reversed(list(own)):  # those inside of others first
        inner = inside.get(outer, ())
        answered = sum(not trace.spans[n].is_error for n in inner)
        is_sum = inner[0] in found if inner and _are_one(trace, own, inner) else answered > 1
        if is_sum:
            found[outer] = None
    return list(reversed(found))


def _are_one(trace: StoredTrace, own: Mapping[int, RequestFacts], inner: Sequence[int]) -> bool:
    """Whether spans inside of one span show one request: there is one, or they are of several libraries."""
    first = inner[0]
    return all(_are_siblings(trace.spans[first], trace.spans[n], own[first], own[n]) for n in inner[1:])


def _merged(
    trace: StoredTrace, own: Mapping[int, RequestFacts], position: int, inside: Mapping[int, Sequence[int]]
) -> ShownRequest:
    """A request with all that stand inside of each other below it, down to single tries."""
    others: list[int] = []
    inner = inside.get(position, ())
    while inner and _are_one(trace, own, inner):
        others.extend(inner)
        inner = inside.get(inner[0], ())
    tries = sorted(inner, key=lambda n: trace.spans[n].start_ns)
    facts = own[position]
    for other in (*others, *reversed(tries)):  # the last try is the one that was answered
        facts = filled(facts, own[other])
    return ShownRequest(position=position, facts=facts, others=tuple(others), tries=tuple(tries))


def _merged_call(own: Mapping[int, CallFacts], position: int, inner: list[int]) -> ShownCall:
    facts = own[position]
    for other in inner:
        facts = _filled_call(facts, own[other])
    return ShownCall(position=position, facts=facts, others=tuple(inner))


def filled(facts: RequestFacts, other: RequestFacts) -> RequestFacts:
    """One span's facts with what only another span of the same request tells."""
    missing = {
        name: value
        for name in RequestFacts.__dataclass_fields__
        if getattr(facts, name) in (None, "", 0, ()) and (value := getattr(other, name)) not in (None, "", ())
    }
    return replace(facts, **missing)


def _filled_call(facts: CallFacts, other: CallFacts) -> CallFacts:
    return replace(
        facts,
        call_id=facts.call_id or other.call_id,
        arguments=facts.arguments if facts.arguments is not None else other.arguments,
        result=facts.result if facts.result is not None else other.result,
        error_type=facts.error_type or other.error_type,
        error_text=facts.error_text or other.error_text,
        is_error=facts.is_error or other.is_error,
    )


def _may_be_one(outer: CallFacts, inner: CallFacts) -> bool:
    return not outer.call_id or not inner.call_id or outer.call_id == inner.call_id


def _without_siblings(trace: StoredTrace, found: Sequence[ShownRequest]) -> list[ShownRequest]:
    kept: list[ShownRequest] = []
    last: dict[object, int] = {}
    for shown in found:
        facts, span = shown.facts, trace.spans[shown.position]
        same_id = ("id", facts.response_id) if facts.response_id else None
        same_count = (facts.input_tokens, facts.output_tokens) if facts.has_usage else None
        place = next((last[key] for key in (same_id, same_count) if key is not None and key in last), None)
        if place is not None and _are_siblings(trace.spans[kept[place].position], span, kept[place].facts, facts):
            before = kept[place]
            others = (*before.others, shown.position, *shown.others)
            kept[place] = replace(before, facts=filled(before.facts, facts), others=others)
        else:
            place = len(kept)
            kept.append(shown)
        last.update((key, place) for key in (same_id, same_count) if key is not None)
    return kept


def _are_siblings(before: StoredSpan, span: StoredSpan, first: RequestFacts, second: RequestFacts) -> bool:
    """The same moment, the same answer, and another library that tells it."""
    if first.response_id and second.response_id and first.response_id != second.response_id:
        return False
    return before.scope != span.scope and before.trace_id == span.trace_id and _contains(before, span)


def _contains(before: StoredSpan, span: StoredSpan) -> bool:
    """Whether one of two lies in the time of the other; open spans tell nothing."""
    if before.is_open or span.is_open or not before.start_ns:
        return False
    around, within = (
        (before, span) if before.end_ns - before.start_ns >= span.end_ns - span.start_ns else (span, before)
    )
    return around.start_ns <= within.start_ns and within.end_ns <= around.end_ns


def _without_sibling_calls(trace: StoredTrace, found: Sequence[ShownCall]) -> list[ShownCall]:
    kept: list[ShownCall] = []
    last: dict[str, int] = {}
    for shown in found:
        place = last.get(shown.facts.call_id) if shown.facts.call_id else None
        before = trace.spans[kept[place].position] if place is not None else None
        span = trace.spans[shown.position]
        if place is not None and before is not None and before.scope != span.scope and _contains(before, span):
            others = (*kept[place].others, shown.position, *shown.others)
            facts = _filled_call(kept[place].facts, shown.facts)
            kept[place] = replace(kept[place], facts=facts, others=others)
        else:
            last[shown.facts.call_id] = len(kept)
            kept.append(shown)
    return kept


def _say_doubled(trace: StoredTrace, what: str, groups: Sequence[tuple[int, ...]], problems: list[Problem]) -> None:
    if groups:
        ids = [trace.spans[position].span_id for group in groups for position in group]
        problems.append(doubled(what, len(groups), ids))


def doubled(what: str, number: int, span_ids: Sequence[str]) -> Problem:
    """What is said of requests or calls that more than one span shows."""
    text = f"{number} {what} are shown by more than one span, as with two instrumentations; counted once"
    return Problem(kind=ProblemKind.DOUBLED, text=text, span_ids=tuple(span_ids[:MAX_SPAN_IDS]))


def roll_up(span: StoredSpan) -> Problem:
    """What is said of a span that repeats the usage of those below it."""
    text = f"span {span.span_id} ({span.name}) repeats the usage of the requests below it: a roll-up, not added"
    return Problem(kind=ProblemKind.ROLL_UP, text=text, span_ids=(span.span_id,))
