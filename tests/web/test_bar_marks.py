"""What is drawn of a span."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.web.bar_marks import percent, waits_in
from traced_loop.web.waterfall import SpanRow, Waterfall, waterfall_of

from ..read.strategies import forests
from .written_runs import MS, SECOND, root, span

if TYPE_CHECKING:
    from traced_loop.read.trace import StoredSpan


def rows(waterfall: Waterfall) -> list[SpanRow]:
    """The rows of spans."""
    return [row for row in waterfall.rows if isinstance(row, SpanRow)]


def test_a_bar_has_its_gaps_and_the_path_in_percent_of_the_run() -> None:
    """A gap below a fiftieth of the run is not marked."""
    spans = [root(100 * SECOND), span(2, 1, 0, 50 * SECOND, "a"), span(3, 1, 51 * SECOND, 40 * SECOND, "b")]
    run, first, second = rows(waterfall_of(build(spans), run_id="run"))

    assert [(gap.x, gap.width) for gap in run.bar.gaps] == [("91%", "9%")]
    assert [(part.x, part.width) for part in run.bar.path] == [("50%", "1%"), ("91%", "9%")]
    assert [(part.x, part.width) for part in second.bar.path] == [("51%", "40%")]
    assert first.bar.whole is not None
    assert (first.bar.whole.x, first.bar.whole.width) == ("0%", "50%")


@pytest.mark.parametrize(
    ("attributes", "waited"),
    [
        ({names.CONFIRMATION_STATE: "approved", names.CONFIRMATION_WAIT_MS: 5}, [(0, 5 * MS)]),
        ({names.CONFIRMATION_STATE: "pending", names.CONFIRMATION_WAIT_MS: 0}, []),
        ({names.CONFIRMATION_STATE: "approved", names.CONFIRMATION_WAIT_MS: 99_999}, [(0, 10 * MS)]),
        ({names.SCHEDULE_MODE: "barrier"}, [(0, 10 * MS)]),
        ({}, []),
    ],
)
def test_a_wait_for_a_person_is_as_long_as_the_span_says(
    attributes: dict[str, object], waited: list[tuple[int, int]]
) -> None:
    """Never longer than the span; one that says nothing and was in its turn waited all along."""
    asking = span(2, 1, 0, 10 * MS, names.AUTHORIZE_CALL, attributes=attributes)

    assert waits_in(asking, (0, 10 * MS)) == waited


def test_shares_are_exact_enough_to_be_looked_at_closely() -> None:
    """A part of a hundred million is told from the next; whole numbers have no fraction."""
    assert [percent(0), percent(0.125), percent(1), percent(1e-8)] == ["0%", "12.5%", "100%", "0.000001%"]


@given(forests())
def test_every_mark_lies_on_the_axis(spans: list[StoredSpan]) -> None:
    """Of any forest; and no row of it is an error."""
    for row in rows(waterfall_of(build(spans), run_id="run", now_ns=70)):
        marks = [*row.bar.path, *row.bar.gaps, *row.bar.waits]
        for mark in marks if row.bar.whole is None else [row.bar.whole, *marks]:
            left, width = (float(text.rstrip("%")) for text in (mark.x, mark.width))
            assert 0 <= left <= left + width <= 100.0001
            assert mark.length_ns >= 0
