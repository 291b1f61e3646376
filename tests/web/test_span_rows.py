"""Which spans have a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.read.span_tree import build
from traced_loop.web.span_rows import DEEPEST, LeftOut, Row, ShownSpan, first_rows, rows_below

from ..read.strategies import forests
from .written_runs import deep_run, stepped_run, wide_run

if TYPE_CHECKING:
    from traced_loop.read.trace import StoredSpan, StoredTrace


def named(trace: StoredTrace, rows: list[Row]) -> list[str]:
    """Names indented by level, and how many are left out."""
    return [
        "  " * (row.level - 1) + (f"+{row.count}" if isinstance(row, LeftOut) else trace.spans[row.position].name)
        for row in rows
    ]


def test_a_small_trace_is_shown_whole() -> None:
    """Every row with children is open."""
    trace = build(stepped_run(2))
    rows = first_rows(trace)

    assert len(rows) == 21
    assert [row.is_open for row in rows if isinstance(row, ShownSpan) and row.level < 3] == [True, True, True]


def test_a_level_that_does_not_fit_is_closed_in_whole() -> None:
    """Of 500 steps the first and the last are there, each of them closed."""
    trace = build(stepped_run(500))
    rows = first_rows(trace)

    assert named(trace, rows)[78:84] == ["  traced_loop.step"] * 3 + ["  +400"] + ["  traced_loop.step"] * 2
    assert len(rows) == 102
    assert not any(row.is_open for row in rows[1:] if isinstance(row, ShownSpan))


def test_a_chain_is_shown_down_to_where_there_is_no_more_room() -> None:
    """Its last row can be opened."""
    trace = build(deep_run(5_000))
    rows = first_rows(trace, limit=50)

    assert [row.level for row in rows if isinstance(row, ShownSpan)] == list(range(1, 51))
    below = rows_below(trace, 50, 0, 1, limit=10)
    assert [row.level for row in below if isinstance(row, ShownSpan)] == list(range(52, 62))


def test_a_span_that_is_wanted_is_shown_with_those_beside_it() -> None:
    """Among 5,000 siblings; what lies between is left out and said."""
    trace = build(wide_run(5_000))
    rows = first_rows(trace, wanted=2_500)

    assert [row.count for row in rows if isinstance(row, LeftOut)] == [2_409, 2_470]
    assert 2_500 in {row.position for row in rows if isinstance(row, ShownSpan)}


def test_a_span_that_lies_too_deep_is_not_reached() -> None:
    """The way to it is shown as far as a reader can follow."""
    rows = first_rows(build(deep_run(5_000)), limit=10, wanted=4_000)

    assert len(rows) == DEEPEST


def test_the_next_siblings_come_without_those_that_are_left_out_around_them() -> None:
    """What asks for more knows what is still missing; a place that is not there gives nothing."""
    trace = build(wide_run(300))

    assert named(trace, rows_below(trace, 0, 80, 82, limit=10)) == ["  work 80", "  work 81"]
    assert rows_below(trace, 0, 300, 400, limit=10) == []
    assert rows_below(trace, 0, -5, -1, limit=10) == []


@given(forests(), st.integers(0, 12), st.integers(0, 11))
def test_a_row_comes_after_its_parents_and_no_span_twice(spans: list[StoredSpan], limit: int, wanted: int) -> None:
    """Of any forest; a wanted span is always there."""
    trace = build(spans)
    rows = first_rows(trace, limit=limit, wanted=wanted if wanted < len(trace.spans) else None)
    shown = [row.position for row in rows if isinstance(row, ShownSpan)]

    assert len(set(shown)) == len(shown)
    assert all(above is None or above in shown[:place] for place, n in enumerate(shown) for above in [trace.parents[n]])
    assert wanted in shown or wanted >= len(trace.spans)
