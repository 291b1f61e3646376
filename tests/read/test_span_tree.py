"""Spans in any order and any state of repair become a tree."""

from dataclasses import replace
from typing import Any

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.read.trace import ProblemKind, StoredSpan, StoredTrace

TRACE = "a" * 32


def span(span_id: str, parent: str = "", start: int = 1, *, name: str = "", **more: Any) -> StoredSpan:
    """A span of one trace that lasts ten nanoseconds."""
    plain = StoredSpan(
        trace_id=TRACE, span_id=span_id, parent_id=parent, name=name or span_id, start_ns=start, end_ns=start + 10
    )
    return replace(plain, **more)


def shape(trace: StoredTrace) -> list[str]:
    """Names indented by depth."""
    return ["  " * depth + found.name for depth, found in trace.walk()]


def kinds(trace: StoredTrace) -> list[ProblemKind]:
    """What was found wrong."""
    return [problem.kind for problem in trace.problems]


def test_children_stand_under_their_parents_whatever_the_order_of_the_input() -> None:
    """A child is written before its parent, since it ends first."""
    trace = build([span("c", "b", 3), span("b", "a", 2), span("a")])

    assert shape(trace) == ["a", "  b", "    c"]
    assert trace.problems == ()


def test_what_is_below_a_span_or_below_none_is_told_alike() -> None:
    """Below none are the roots."""
    trace = build([span("c", "a", 3), span("b", "a", 2), span("a"), span("d", start=9)])

    assert [[trace.spans[n].name for n in trace.below(position)] for position in (None, 2, 0)] == [
        ["a", "d"],
        ["b", "c"],
        [],
    ]


def test_siblings_stand_by_start_time_and_then_by_call_index() -> None:
    """Calls of one batch can start in the same nanosecond; the span that tells the index orders those that do not."""
    calls = [
        span("late", "r", 9),
        span("e1", "r", 5, attributes={names.GEN_AI_TOOL_CALL_ID: "two"}),
        span("e0", "r", 5, attributes={names.GEN_AI_TOOL_CALL_ID: "one"}),
        span("v1", "r", 4, attributes={names.CALL_ID: "two", names.CALL_INDEX: 1}),
        span("v0", "r", 4, attributes={names.CALL_ID: "one", names.CALL_INDEX: 0}),
    ]

    assert shape(build([span("r"), *calls])) == ["r", "  v0", "  v1", "  e0", "  e1", "  late"]


def test_an_orphan_is_a_root_and_reported_with_both_ids() -> None:
    """Nothing below it is lost."""
    trace = build([span("b", "gone", 2), span("c", "b", 3)])

    assert shape(trace) == ["b", "  c"]
    (problem,) = trace.problems
    assert problem.kind is ProblemKind.ORPHAN
    assert problem.span_ids == ("b", "gone")


def test_a_run_that_an_application_called_is_no_orphan() -> None:
    """The application keeps the parent; only the run is in the store."""
    run = span("r", "the-applications", attributes={names.GEN_AI_OPERATION: names.INVOKE_AGENT})

    trace = build([run])

    assert trace.problems == ()
    assert trace.run_span() == run


def test_exact_duplicates_are_dropped_and_counted() -> None:
    """Delivery is at least once; attributes in another order are the same attributes."""
    first = span("a", attributes={"x": float("nan"), "y": 1})

    trace = build([first, span("a", attributes={"y": 1, "x": float("nan")}), replace(first, resource={"host": "b"})])

    assert len(trace.spans) == 1
    assert kinds(trace) == [ProblemKind.DUPLICATE]
    assert "2, of 1" in trace.problems[0].text


def test_one_id_with_different_contents_is_kept_and_reported() -> None:
    """Children belong to the first."""
    trace = build([span("a"), span("a", name="other"), span("b", "a", 2)])

    assert shape(trace) == ["a", "  b", "other"]
    assert kinds(trace) == [ProblemKind.CONFLICT]


def test_a_start_gives_way_to_the_whole_span_in_either_order() -> None:
    """Only what never ended is open."""
    begun, whole = span("a", end_ns=0, is_open=True), span("a", attributes={"x": 1})

    assert build([begun, whole]).spans == build([whole, begun]).spans == (whole,)


def test_a_circle_is_opened_at_its_earliest_span() -> None:
    """Every span is shown once, also one that is its own parent."""
    trace = build([span("a", "c", 5), span("b", "a", 2), span("c", "b", 3), span("d", "c", 4), span("self", "self")])

    assert shape(trace) == ["self", "b", "  c", "    d", "    a"]
    assert kinds(trace).count(ProblemKind.CYCLE) == 2


def test_a_negative_duration_is_unknown_and_reported() -> None:
    """It is not taken for zero."""
    trace = build([span("a", start=50, end_ns=20)])

    assert trace.spans[0].duration_ns is None
    assert kinds(trace) == [ProblemKind.NEGATIVE_DURATION]


def test_a_child_that_starts_before_its_parent_is_reported() -> None:
    """The clocks of two machines differ."""
    assert kinds(build([span("a", start=5), span("b", "a", 4)])) == [ProblemKind.STARTS_BEFORE_PARENT]


def test_spans_without_ids_are_all_kept() -> None:
    """Nothing says that they are the same."""
    assert len(build([span(""), span("")]).spans) == 2


def test_a_chain_of_a_hundred_thousand_spans_is_a_tree() -> None:
    """Depth is the input's to choose."""
    count = 100_000

    trace = build([span(str(n), str(n - 1) if n else "", n + 1) for n in range(count)])

    assert sum(1 for _ in trace.walk()) == count
    assert max(depth for depth, _ in trace.walk()) == count - 1


def test_the_leaves_of_what_is_open_are_what_went_on() -> None:
    """An open parent of something open is not one of them."""
    opened: dict[str, Any] = {"end_ns": 0, "is_open": True}
    trace = build([span("a", **opened), span("b", "a", 2, **opened), span("c", "a", 2), span("d", "a", 3, **opened)])

    assert [found.name for found in trace.open_leaves()] == ["b", "d"]


def test_of_several_runs_in_one_file_the_last_is_the_run() -> None:
    """A resumed run goes on as a new trace."""
    run = {names.GEN_AI_OPERATION: names.INVOKE_AGENT}
    resumed = span("b", start=9, attributes=run, trace_id="b" * 32)

    assert build([resumed, span("a", attributes=run)]).run_span() == resumed


def test_nothing_at_all_is_an_empty_tree() -> None:
    """Times are then unknown."""
    trace = build([])

    assert (list(trace.walk()), trace.run_span(), trace.begun_ns, trace.last_ns) == ([], None, 0, 0)
