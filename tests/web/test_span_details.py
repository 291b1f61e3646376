"""All that is stored of one span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.read.trace import SpanEvent
from traced_loop.web.span_details import MOST_CHARACTERS, MOST_CHILDREN, children_of, span_details
from traced_loop.web.span_handles import span_handles

from ..read.strategies import forests
from .written_runs import BEGUN, MS, root, span, wide_run

if TYPE_CHECKING:
    from traced_loop.read.trace import StoredSpan


def test_attributes_stand_by_key_with_what_ours_mean_and_long_values_are_cut() -> None:
    """How much is left out is said; values that are no text are shown as JSON."""
    attributes = {"b": ("x", 1), names.STEP_INDEX: 3, "a": "y" * (MOST_CHARACTERS + 7)}
    event = SpanEvent(time_ns=BEGUN + MS, name="told", attributes={"k": True})
    trace = build([root(9 * MS), span(2, 1, 0, MS, "odd", attributes=attributes, events=(event,))])
    details = span_details(trace, span_handles(trace), 1)

    assert [(line.key, line.text[:10], line.left_out) for line in details.attributes] == [
        ("a", "y" * 10, 7),
        ("b", '["x", 1]', 0),
        (names.STEP_INDEX, "3", 0),
    ]
    assert [bool(line.meaning) for line in details.attributes] == [False, False, True]
    assert [(told.name, told.after_ns, told.attributes[0].text) for told in details.events] == [("told", MS, "true")]
    assert details.parent is not None
    assert details.parent.title == "invoke_agent written"


def test_children_come_a_page_at_a_time() -> None:
    """A place behind the last is the last."""
    trace = build(wide_run(250))
    handles = span_handles(trace)

    assert [(c.first, c.last) for c in (children_of(trace, handles, 0, at) for at in (0, 200, 999))] == [
        (0, MOST_CHILDREN),
        (200, 250),
        (249, 250),
    ]
    assert children_of(trace, handles, 5, 0).count == 0


@given(forests())
def test_every_span_of_any_forest_has_its_details(spans: list[StoredSpan]) -> None:
    """Whatever is missing."""
    trace = build(spans)
    handles = span_handles(trace)
    for n, each in enumerate(trace.spans):
        details = span_details(trace, handles, n)
        assert details.span is each
        assert (details.parent is None) is (trace.parents[n] is None)
