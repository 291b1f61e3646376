"""Tokens and cost of every request, as numbers and as columns."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.read.agent_run import AgentRun, StoredAttempt, StoredRequest
from traced_loop.read.trace import StoredTrace
from traced_loop.web.spending_chart import COLUMN_WIDTH, MAX_COLUMNS, MAX_ROWS, spending_chart

COUNTS = st.none() | st.integers(-5, 2**62)


def request(step: int = 1, given: int | None = 100, got: int | None = 20, **more: Any) -> StoredRequest:
    """An answered request."""
    return StoredRequest(step=step, input_tokens=given, output_tokens=got, **more)


def run(*requests: StoredRequest) -> AgentRun:
    """A run of these requests."""
    return AgentRun(id="r", dialect="traced_loop", trace=StoredTrace(), requests=requests)


def test_the_highest_column_fills_the_height_and_the_others_their_part() -> None:
    """Cached input is at the foot, then the other input, then the output."""
    chart = spending_chart(run(request(1, 60, 40, cached_tokens=30), request(2, 25, 25)))

    first, second = chart.columns
    assert chart.most_tokens == 100
    assert (first.cached, first.fresh, first.output) == (30.0, 30.0, 40.0)
    assert (second.cached, second.fresh, second.output) == (0.0, 25.0, 25.0)
    assert (first.x, second.x, chart.width) == (0, COLUMN_WIDTH, 2 * COLUMN_WIDTH)


def test_what_is_not_known_is_said_and_not_drawn_as_nothing() -> None:
    """Tokens and cost have each a mark of their own; a request without an answer is not counted among them."""
    known = request(1, cost_usd=Decimal("0.5"))
    chart = spending_chart(run(known, request(2, None), request(3, None, None, is_open=True)))

    assert [column.is_unknown for column in chart.columns] == [False, True, True]
    assert [column.is_unpriced for column in chart.columns] == [False, True, True]
    assert (chart.uncounted, chart.unpriced) == (1, 1)
    assert chart.rows[1].input is None
    assert [column.cost for column in chart.columns] == [100.0, 0.0, 0.0]
    assert "unknown" in chart.legend


def test_requests_that_were_tried_again_are_marked() -> None:
    """With how often."""
    tried = request(1, attempts=(StoredAttempt(number=1, error_type="503"), StoredAttempt(number=2)))
    chart = spending_chart(run(tried, request(2)))

    assert [row.tries for row in chart.rows] == [2, 1]
    assert chart.retried == 1
    assert chart.legend == ("input", "output", "retried")


def test_input_is_named_by_what_is_beside_it() -> None:
    """It is told from cached input only where there is some."""
    assert spending_chart(run(request(1, 60, 40))).legend == ("input", "output")
    assert spending_chart(run(request(1, 60, 40, cached_tokens=30))).legend == ("cached", "fresh", "output")


def test_many_requests_share_columns_and_none_is_lost() -> None:
    """The table has the first of them, and says how many more there are."""
    chart = spending_chart(run(*(request(n + 1, 1, 1) for n in range(2_500))))

    assert len(chart.columns) <= MAX_COLUMNS
    assert chart.each == 21
    assert sum(len(column.rows) for column in chart.columns) == 2_500
    assert sum(column.tokens for column in chart.columns) == 5_000
    assert (len(chart.rows), chart.left_out) == (MAX_ROWS, 1_500)


def test_agents_are_named_where_there_are_several() -> None:
    """Else the name says nothing."""
    one, other = request(1, agent="a"), request(1, agent="b")

    assert [row.agent for row in spending_chart(run(one, other)).rows] == ["a", "b"]
    assert [row.agent for row in spending_chart(run(one, replace(other, agent="a"))).rows] == ["", ""]


def test_a_run_without_requests_has_an_empty_chart() -> None:
    """It still has a width that can be drawn."""
    chart = spending_chart(run())

    assert (chart.rows, chart.columns, chart.most_cost, chart.width) == ((), (), None, COLUMN_WIDTH)


@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS, st.none() | st.decimals(-5, 10**12)), max_size=200))
def test_no_column_is_higher_than_the_chart(amounts: list[tuple[int | None, int | None, int | None, Any]]) -> None:
    """Whatever a damaged trace counts."""
    chart = spending_chart(
        run(*(request(1, given, got, cached_tokens=cached, cost_usd=cost) for given, got, cached, cost in amounts))
    )

    for column in chart.columns:
        assert 0 <= column.cached + column.fresh + column.output <= 100.1
        assert min(column.cached, column.fresh, column.output) >= 0
        assert 0 <= column.cost <= 100
