"""Where moments stand on the axis, and what its ruler says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.time_axis import tick_text, time_axis

SECOND = 1_000_000_000


def test_an_axis_goes_from_edge_to_edge_and_counts_from_its_begin() -> None:
    """Marks are at round times, and what lies outside stands at an edge."""
    axis = time_axis(1_000, 1_000 + 10 * SECOND)

    assert (axis.place(1_000), axis.place(1_000 + 5 * SECOND), axis.place(1_000 + 10 * SECOND)) == (0, 0.5, 1)
    assert (axis.place(1), axis.place(99 * SECOND)) == (0, 1)
    assert [(tick.at, tick.text) for tick in axis.ticks()][:3] == [(0, "0"), (0.2, "2 s"), (0.4, "4 s")]


def test_a_long_pause_is_short_and_not_counted_and_a_short_one_stays() -> None:
    """Its two sides are a twentieth of the width apart; the ruler goes on where it stopped."""
    axis = time_axis(0, 1_020 * SECOND, [(2 * SECOND, 3 * SECOND), (10 * SECOND, 1_010 * SECOND)])

    assert [piece.is_pause for piece in axis.pieces] == [False, True, False]
    assert axis.place(1_010 * SECOND) - axis.place(10 * SECOND) == pytest.approx(0.05)
    assert axis.length_ns == 20 * SECOND
    assert [tick.text for tick in axis.ticks(4)] == ["0", "5 s", "10 s", "15 s"]
    assert axis.ticks(4)[2].at == axis.place(1_010 * SECOND)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0"),
        (500, "500 ns"),
        (20_000, "20 µs"),
        (1_500_000, "1.5 ms"),
        (90 * SECOND, "1 min 30 s"),
        (7_200 * SECOND, "2 h"),
        (90_061 * SECOND, "1 d 1 h 1 min 1 s"),
    ],
)
def test_round_times_are_short(nanoseconds: int, text: str) -> None:
    """In the units that people use for them."""
    assert tick_text(nanoseconds) == text


@given(st.lists(st.integers(0, 2**62), min_size=2, max_size=9).map(sorted), st.integers(0, 2**62))
def test_later_moments_never_stand_further_left(edges: list[int], moment: int) -> None:
    """Of any axis with any pauses; its pieces follow each other and fill the width."""
    begin, *inner, end = edges
    axis = time_axis(begin, end, [(a, b) for a, b in pairwise(inner) if inner.index(a) % 2 == 0])

    assert (axis.pieces[0].left, axis.pieces[-1].right) == (0, 1)
    for before, after in pairwise(axis.pieces):
        assert before.end_ns == after.start_ns
        assert before.left <= before.right == pytest.approx(after.left)
    assert 0 <= axis.place(moment) <= axis.place(moment + 1) <= 1
    assert len(axis.ticks()) <= 40
