"""All that is stored of one span, as it is shown when somebody asks for it."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_entry import utc
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.views.span_words import described, title
from traced_loop.web.attribute_meanings import attribute_meanings
from traced_loop.web.span_handles import SpanHandles
from traced_loop.web.span_relations import MOST_LINKS, RelationKind, relations_of

MOST_CHARACTERS: Final = 4_000
"""Of one value; how many are left out is said."""
MOST_ATTRIBUTES: Final = 300
MOST_EVENTS: Final = 200
MOST_CHILDREN: Final = 100
"""On one page."""


@frozen_value
class CutText:
    """A text of the trace as far as it is shown, and how many characters of it are left out."""

    text: str
    left_out: int


@frozen_value
class AttributeLine:
    """One attribute: its key, its value as text, and what the key means, or ``""``."""

    key: CutText
    value: CutText
    meaning: str


@frozen_value
class Attributes:
    """The first ``MOST_ATTRIBUTES`` by key, and how many are left out."""

    lines: tuple[AttributeLine, ...]
    left_out: int


@frozen_value
class EventLine:
    """One event: when, how long after the span's start (None for unknown), and what it says."""

    time: datetime | None
    after_ns: int | None
    name: CutText
    attributes: Attributes


@frozen_value
class Neighbour:
    """A span that can be gone to."""

    handle: str
    title: str


@frozen_value
class ShownRelation:
    """A reference: why, and to which span; ``other`` is None where this trace does not have it."""

    kind: RelationKind
    span_id: CutText
    other: Neighbour | None


@frozen_value
class SpanDetails:
    """One span.

    Attributes:
        span: as stored.
        handle: for addresses.
        title: as people say its name.
        name: as it is stored.
        span_id: likewise.
        trace_id: likewise.
        status: what is said of its status.
        words: all that is said behind it.
        started: None for unknown.
        ended: None for unknown, and while it is open.
        attributes: its own.
        resource: those of who recorded it.
        events: the first ``MOST_EVENTS``.
        events_left_out: how many come after them.
        relations: what it refers to.
        relations_left_out: links after the first ``MOST_LINKS``.
        parent: None for a root.
    """

    span: StoredSpan
    handle: str
    title: str
    name: CutText
    span_id: CutText
    trace_id: CutText
    status: CutText
    words: tuple[CutText, ...]
    started: datetime | None
    ended: datetime | None
    attributes: Attributes
    resource: Attributes
    events: tuple[EventLine, ...]
    events_left_out: int
    relations: tuple[ShownRelation, ...]
    relations_left_out: int
    parent: Neighbour | None


@frozen_value
class Children:
    """Some of the spans right below one, or of the roots; ``first`` and ``last`` say which of them all."""

    spans: tuple[Neighbour, ...]
    first: int
    last: int
    count: int


def span_details(trace: StoredTrace, handles: SpanHandles, position: int) -> SpanDetails:
    """What is stored of the span at this position."""
    span, above = trace.spans[position], trace.parents[position]
    return SpanDetails(
        span=span,
        handle=handles.handles[position],
        title=title(span),
        name=_cut(span.name),
        span_id=_cut(span.span_id),
        trace_id=_cut(span.trace_id),
        status=_cut(span.status_message),
        words=tuple(_cut(text.plain) for text in described(span, full=True)),
        started=utc(span.start_ns),
        ended=None if span.is_open else utc(span.end_ns),
        attributes=_lines(span.attributes),
        resource=_lines(span.resource),
        events=tuple(
            EventLine(
                time=utc(event.time_ns),
                after_ns=event.time_ns - span.start_ns if span.start_ns and event.time_ns else None,
                name=_cut(event.name),
                attributes=_lines(event.attributes),
            )
            for event in span.events[:MOST_EVENTS]
        ),
        events_left_out=max(0, len(span.events) - MOST_EVENTS),
        relations=tuple(
            ShownRelation(kind=each.kind, span_id=_cut(each.span_id), other=_neighbour(trace, handles, each.target))
            for each in relations_of(trace, handles, position)
        ),
        relations_left_out=max(0, len(span.links) - MOST_LINKS),
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


def _lines(attributes: Mapping[str, Any]) -> Attributes:
    meanings = attribute_meanings()
    shown = sorted(attributes.items())[:MOST_ATTRIBUTES]
    return Attributes(
        lines=tuple(_line(key, value, meanings) for key, value in shown), left_out=len(attributes) - len(shown)
    )


def _line(key: str, value: object, meanings: Mapping[str, str]) -> AttributeLine:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return AttributeLine(key=_cut(key), value=_cut(text), meaning=meanings.get(key, ""))


def _cut(text: str) -> CutText:
    return CutText(text=text[:MOST_CHARACTERS], left_out=max(0, len(text) - MOST_CHARACTERS))
