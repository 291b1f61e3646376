"""The chain of spans that determines when a run ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import given

from traced_loop import names
from traced_loop.diagnose.critical_path import critical_path
from traced_loop.read.span_times import hull, span_times
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan

from ..read.strategies import forests

if TYPE_CHECKING:
    from collections.abc import Sequence


def span(name: str, parent: str, start: int, end: int, **more: Any) -> StoredSpan:
    """A span whose id is its name."""
    return StoredSpan(trace_id="a", span_id=name, parent_id=parent, name=name, start_ns=start, end_ns=end, **more)


def path(*spans: StoredSpan) -> list[tuple[str | None, int, int]]:
    """The stretches with the names of their spans."""
    trace = build(spans)
    found = critical_path(trace, span_times(trace)).stretches
    return [(None if s.position is None else trace.spans[s.position].name, s.start_ns, s.end_ns) for s in found]


def test_of_spans_in_a_row_each_is_on_the_path_and_what_is_between_is_their_parents() -> None:
    """The parent before the first, between the two, and after the last."""
    assert path(span("run", "", 1, 20), span("a", "run", 2, 8), span("b", "run", 10, 15)) == [
        ("run", 1, 2),
        ("a", 2, 8),
        ("run", 8, 10),
        ("b", 10, 15),
        ("run", 15, 20),
    ]


def test_of_calls_side_by_side_the_last_to_end_is_on_the_path() -> None:
    """The shorter ones could be as slow as it is, and the run would end no later."""
    spans = [span("run", "", 1, 12), span("short", "run", 1, 5), span("long", "run", 1, 9), span("after", "run", 9, 12)]

    assert path(*spans) == [("long", 1, 9), ("after", 9, 12)]


def test_a_call_that_overlaps_a_later_one_is_not_what_that_one_waited_for() -> None:
    """It had not ended when the later one began; one that had is on the path."""
    spans = [span("run", "", 1, 20), span("first", "run", 1, 6), span("over", "run", 2, 12), span("last", "run", 8, 20)]

    assert path(*spans) == [("first", 1, 6), ("run", 6, 8), ("last", 8, 20)]


def test_a_child_that_lasts_longer_than_its_parent_counts_up_to_the_parents_end() -> None:
    """And one that begins earlier, from its parent's start."""
    assert path(span("run", "", 5, 10), span("skewed", "run", 1, 30)) == [("skewed", 5, 10)]


def test_between_a_pause_and_its_resumption_no_span_is_on_the_path() -> None:
    """The runs of one trace follow each other; other roots are beside them."""
    run = {names.GEN_AI_OPERATION: names.INVOKE_AGENT}
    spans = [span("a", "", 1, 5, attributes=run), span("b", "", 9, 12, attributes=run), span("orphan", "gone", 2, 99)]

    assert path(*spans) == [("a", 1, 5), (None, 5, 9), ("b", 9, 12)]


def test_a_late_completion_holds_up_nothing() -> None:
    """It ends after the run has moved on."""
    late = replace(span("late", "run", 3, 9), name=names.LATE_COMPLETION)

    assert path(span("run", "", 1, 10), late) == [("run", 1, 10)]


def test_all_above_a_span_on_the_path_are_on_it() -> None:
    """Also a step that has no stretch of its own."""
    trace = build(
        [span("run", "", 1, 5), span("step", "run", 1, 5), span("call", "step", 1, 5), span("beside", "step", 1, 3)]
    )
    found = critical_path(trace, span_times(trace))

    assert {trace.spans[n].name for n in found.positions} == {"run", "step", "call"}
    assert [stretch.position for stretch in found.stretches] == [2]


@given(forests())
def test_the_path_goes_from_the_first_start_to_the_last_end_without_a_hole(spans: Sequence[StoredSpan]) -> None:
    """Of any forest: stretches follow each other, add up, and lie in their spans."""
    trace = build(spans)
    times = span_times(trace)
    found = critical_path(trace, times)
    known = [n for n in trace.roots if times[n] is not None]
    whole = hull([times[n] for n in known if trace.spans[n].is_run] or [times[n] for n in known])

    assert all(before.end_ns == after.start_ns for before, after in pairwise(found.stretches))
    assert all(stretch.start_ns < stretch.end_ns for stretch in found.stretches)
    assert sum(s.end_ns - s.start_ns for s in found.stretches) == (0 if whole is None else whole[1] - whole[0])
    for stretch in found.stretches:
        if stretch.position is not None:
            lasting = times[stretch.position]
            assert lasting is not None
            assert lasting[0] <= stretch.start_ns
            assert stretch.end_ns <= lasting[1]
            assert stretch.position in found.positions


def test_a_chain_of_100000_spans_is_walked_without_recursion() -> None:
    """Each is on the path, and has a stretch at both its ends but the last."""
    count = 100_000
    spans = [span(str(n), str(n - 1) if n else "", 1 + n, 3 * count - n) for n in range(count)]
    trace = build(spans)

    found = critical_path(trace, span_times(trace))

    assert len(found.positions) == count
    assert len(found.stretches) == 2 * count - 1
