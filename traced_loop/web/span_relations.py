"""What a span refers to: the call that it repeats, the result that it gives again, the run that it goes on with."""

from enum import StrEnum
from typing import Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.web.span_handles import SpanHandles

MOST_LINKS: Final = 50
"""Links of one span that are shown."""


class RelationKind(StrEnum):
    """Why one span refers to another."""

    REPEATS = "repeats"
    """To the first occurrence of the same thing."""
    REPLAYS = "replays"
    """To the execution whose result is given again."""
    LATE_END = "late_end"
    """To the execution that had timed out."""
    UNDOES = "undoes"
    """To the call that is undone."""
    RESUMES = "resumes"
    """To the run's span before it was stopped or paused."""
    TRIES_AGAIN = "tries_again"
    """To the try before it. The one kind that comes from the tree and not from a link."""
    LINKS = "links"
    """A link of which nothing tells more."""


@frozen_value
class Relation:
    """One reference.

    Attributes:
        kind: why.
        target: position of the other span; None where this trace does not have it.
        trace_id: of the other span.
        span_id: likewise.
    """

    kind: RelationKind
    target: int | None
    trace_id: str
    span_id: str


def relations_of(trace: StoredTrace, handles: SpanHandles, position: int) -> list[Relation]:
    """What a span refers to, the first ``MOST_LINKS``.

    Args:
        trace: of any shape.
        handles: of it.
        position: of the span.
    """
    span = trace.spans[position]
    found = [
        Relation(kind=_kind(span), target=handles.places.get(key), trace_id=key[0], span_id=key[1])
        for key in dict.fromkeys((link.trace_id, link.span_id) for link in span.links[:MOST_LINKS])
    ]
    before = _try_before(trace, position)
    if before is not None:
        other = trace.spans[before]
        again = Relation(kind=RelationKind.TRIES_AGAIN, target=before, trace_id=other.trace_id, span_id=other.span_id)
        found.append(again)
    return [relation for relation in found if relation.target != position]


def _kind(span: StoredSpan) -> RelationKind:
    if span.name == names.REPLAY:
        return RelationKind.REPLAYS
    if span.name == names.LATE_COMPLETION:
        return RelationKind.LATE_END
    if span.is_run:
        return RelationKind.RESUMES
    if span.text(names.COMPENSATION_CALL_ID):
        return RelationKind.UNDOES
    if span.text(names.REPETITION_KIND):
        return RelationKind.REPEATS
    return RelationKind.LINKS


def _try_before(trace: StoredTrace, position: int) -> int | None:
    number = trace.spans[position].count(names.ATTEMPT_NUMBER)
    if trace.spans[position].name != names.ATTEMPT or number is None or number < 2:
        return None
    tries = (n for n in trace.below(trace.parents[position]) if trace.spans[n].name == names.ATTEMPT)
    return next((n for n in tries if trace.spans[n].count(names.ATTEMPT_NUMBER) == number - 1), None)
