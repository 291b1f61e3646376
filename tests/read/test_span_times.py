"""From when to when spans lasted, whatever their times are like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given

from traced_loop.read.span_times import hull, span_times, top_down
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan

from .strategies import forests

if TYPE_CHECKING:
    from collections.abc import Sequence


def span(name: str, parent: str, start: int, end: int, **more: Any) -> StoredSpan:
    """A span whose id is its name."""
    return StoredSpan(trace_id="a", span_id=name, parent_id=parent, name=name, start_ns=start, end_ns=end, **more)


def test_an_open_span_lasts_until_the_last_sign_of_life_or_until_now() -> None:
    """The later of the two."""
    trace = build([span("a", "", 10, 0, is_open=True), span("b", "a", 20, 30)])

    assert span_times(trace) == ((10, 30), (20, 30))
    assert span_times(trace, 99)[0] == (10, 99)


def test_a_span_without_times_has_those_of_what_is_below_it() -> None:
    """Turned ones likewise; where nothing below has any, there are none."""
    trace = build(
        [span("a", "", 0, 0), span("b", "a", 9, 5), span("c", "b", 3, 4), span("d", "b", 7, 8), span("e", "", 5, 1)]
    )

    assert span_times(trace) == ((3, 8), (3, 8), (3, 4), (7, 8), None)


@given(forests())
def test_every_time_that_is_known_goes_forward_and_every_span_comes_after_its_parent(
    spans: Sequence[StoredSpan],
) -> None:
    """Of any forest."""
    trace = build(spans)
    order = top_down(trace)
    places = {n: place for place, n in enumerate(order)}

    assert sorted(order) == list(range(len(trace.spans)))
    assert all(above is None or places[above] < places[n] for n, above in enumerate(trace.parents))
    assert all(lasting is None or 0 < lasting[0] <= lasting[1] for lasting in span_times(trace))


def test_several_times_together_last_from_the_first_start_to_the_last_end() -> None:
    """None where none is known."""
    assert hull([(3, 4), None, (1, 2)]) == (1, 4)
    assert hull([None]) is None
