"""All that is stored of one span, as it is shown when somebody asks for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from traced_loop.read.run_entry import utc
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.views.span_words import described, title
from traced_loop.web.attribute_meanings import attribute_meanings
from traced_loop.web.span_handles import SpanHandles
from traced_loop.web.span_relations import Relation, relations_of

MOST_CHARACTERS: Final = 4_000
"""Of one value; how many are left out is said."""
MOST_ATTRIBUTES: Final = 300
MOST_EVENTS: Final = 200
MOST_CHILDREN: Final = 100
"""On one page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeLine:
    """One attribute: its value as text, how many characters of that are left out, and what the key means, or ``""``."""

    key: str
    text: str
    left_out: int
    meaning: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EventLine:
    """One event: when, how long after the span's start (None for unknown), and what it says."""

    time: datetime | None
    after_ns: int | None
    name: str
    attributes: tuple[AttributeLine, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbour:
    """A span that can be gone to."""

    handle: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanDetails:
    """One span.

    Attributes:
        span: as stored.
        handle: for addresses.
        title: as people say its name.
        words: all that is said behind it.
        started: None for unknown.
        ended: None for unknown, and while it is open.
        attributes: by key, the first ``MOST_ATTRIBUTES``.
        resource: likewise.
        events: the first ``MOST_EVENTS``.
        relations: what it refers to, each with that span where this trace has it.
        parent: None for a root.
    """

    span: StoredSpan
    handle: str
    title: str
    words: tuple[str, ...]
    started: datetime | None
    ended: datetime | None
    attributes: tuple[AttributeLine, ...]
    resource: tuple[AttributeLine, ...]
    events: tuple[EventLine, ...]
    relations: tuple[tuple[Relation, Neighbour | None], ...]
    parent: Neighbour | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Children:
    """Some of the spans right below one, or of the roots; ``first`` and ``last`` say which of them all."""

    spans: tuple[Neighbour, ...]
    first: int
    last: int
    count: int


def span_details(trace: StoredTrace, handles: SpanHandles, position: int) -> SpanDetails:
    """What is stored of the span at this position."""
    span, above = trace.spans[position], trace.parents[position]
    relations = relations_of(trace, handles, position)
    return SpanDetails(
        span=span,
        handle=handles.handles[position],
        title=title(span),
        words=tuple(text.plain[:MOST_CHARACTERS] for text in described(span, full=True)),
        started=utc(span.start_ns),
        ended=None if span.is_open else utc(span.end_ns),
        attributes=_lines(span.attributes),
        resource=_lines(span.resource),
        events=tuple(
            EventLine(
                time=utc(event.time_ns),
                after_ns=event.time_ns - span.start_ns if span.start_ns and event.time_ns else None,
                name=event.name[:MOST_CHARACTERS],
                attributes=_lines(event.attributes),
            )
            for event in span.events[:MOST_EVENTS]
        ),
        relations=tuple((relation, _neighbour(trace, handles, relation.target)) for relation in relations),
        parent=_neighbour(trace, handles, above),
    )


def children_of(trace: StoredTrace, handles: SpanHandles, position: int | None, first: int) -> Children:
    """The children of a span (None for the roots) from a place on, ``MOST_CHILDREN`` at most."""
    found = trace.below(position)
    first = max(0, min(first, len(found) - 1))
    shown = found[first : first + MOST_CHILDREN]
    spans = tuple(Neighbour(handle=handles.handles[n], title=title(trace.spans[n])) for n in shown)
    return Children(spans=spans, first=first, last=first + len(shown), count=len(found))


def _neighbour(trace: StoredTrace, handles: SpanHandles, position: int | None) -> Neighbour | None:
    if position is None:
        return None
    return Neighbour(handle=handles.handles[position], title=title(trace.spans[position]))


def _lines(attributes: Mapping[str, Any]) -> tuple[AttributeLine, ...]:
    meanings = attribute_meanings()
    return tuple(_line(key, value, meanings) for key, value in sorted(attributes.items())[:MOST_ATTRIBUTES])


def _line(key: str, value: object, meanings: Mapping[str, str]) -> AttributeLine:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return AttributeLine(
        key=key[:MOST_CHARACTERS],
        text=text[:MOST_CHARACTERS],
        left_out=max(0, len(text) - MOST_CHARACTERS),
        meaning=meanings.get(key, ""),
    )
