"""Time of a span that lies under nothing below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given

from traced_loop import names
from traced_loop.diagnose.time_gaps import GapKind, gaps_in
from traced_loop.read.span_times import hull, span_times
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan

from ..read.strategies import forests

if TYPE_CHECKING:
    from collections.abc import Sequence


def span(number: int, parent: int, start: int, end: int, name: str = "", **more: Any) -> StoredSpan:
    """A span with a number as id; 0 is no parent."""
    above = str(parent) if parent else ""
    return StoredSpan(trace_id="a", span_id=str(number), parent_id=above, name=name, start_ns=start, end_ns=end, **more)


def gaps(*spans: StoredSpan, of: int | None = 0, least: int = 1) -> list[tuple[int, int, GapKind]]:
    """The gaps of the span at this position."""
    trace = build(spans)
    return [(g.start_ns, g.end_ns, g.kind) for g in gaps_in(trace, span_times(trace), of, least_ns=least)]


def test_what_lies_under_no_child_is_a_gap_also_before_the_first_and_after_the_last() -> None:
    """Children that overlap cover what they cover together; a span without children has no gaps."""
    spans = [span(1, 0, 1, 30), span(2, 1, 3, 9), span(3, 1, 5, 7), span(4, 1, 12, 40)]

    assert gaps(*spans) == [(1, 3, GapKind.UNDER_NO_SPAN), (9, 12, GapKind.UNDER_NO_SPAN)]
    assert gaps(*spans, of=1) == []
    assert gaps(*spans, least=3) == [(9, 12, GapKind.UNDER_NO_SPAN)]


def test_what_lies_between_two_tries_is_a_pause() -> None:
    """Before the first try it is not."""
    spans = [span(1, 0, 1, 30), span(2, 1, 3, 9, names.ATTEMPT), span(3, 1, 12, 30, names.ATTEMPT)]

    assert gaps(*spans) == [(1, 3, GapKind.UNDER_NO_SPAN), (9, 12, GapKind.BETWEEN_TRIES)]


def test_what_lies_between_two_roots_is_between_runs() -> None:
    """A run that was resumed."""
    assert gaps(span(1, 0, 1, 5), span(2, 0, 9, 12), of=None) == [(5, 9, GapKind.BETWEEN_RUNS)]


@given(forests())
def test_gaps_and_what_children_cover_add_up_to_the_span(spans: Sequence[StoredSpan]) -> None:
    """Of any span of any forest that has children with times; moments are counted one by one."""
    trace = build(spans)
    times = span_times(trace)
    for n in (None, *range(len(trace.spans))):
        children = trace.roots if n is None else trace.children[n]
        timed = [lasting for child in children if (lasting := times[child]) is not None]
        whole = hull(timed) if n is None else times[n]
        found = gaps_in(trace, times, n)
        if not timed or whole is None:
            assert found == ()
            continue
        free = [t for t in range(*whole) if not any(start <= t < end for start, end in timed)]
        assert [t for gap in found for t in range(gap.start_ns, gap.end_ns)] == free
