"""All that is stored of one span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.read.trace import SpanEvent, SpanLink
from traced_loop.web.span_details import (
    MOST_ATTRIBUTES,
    MOST_CHARACTERS,
    MOST_CHILDREN,
    MOST_EVENTS,
    children_of,
    span_details,
)
from traced_loop.web.span_handles import span_handles
from traced_loop.web.span_relations import MOST_LINKS

from ..read.strategies import forests
from .bare_pages import bare_pages
from .written_runs import BEGUN, MS, root, span, wide_run, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.read.trace import StoredSpan


def test_attributes_stand_by_key_with_what_ours_mean_and_long_values_are_cut() -> None:
    """How much is left out is said; values that are no text are shown as JSON."""
    attributes = {"b": ("x", 1), names.STEP_INDEX: 3, "a": "y" * (MOST_CHARACTERS + 7)}
    event = SpanEvent(time_ns=BEGUN + MS, name="told", attributes={"k": True})
    trace = build([root(9 * MS), span(2, 1, 0, MS, "odd", attributes=attributes, events=(event,))])
    details = span_details(trace, span_handles(trace), 1)

    assert [(line.key.text, line.value.text[:10], line.value.left_out) for line in details.attributes.lines] == [
        ("a", "y" * 10, 7),
        ("b", '["x", 1]', 0),
        (names.STEP_INDEX, "3", 0),
    ]
    assert [bool(line.meaning) for line in details.attributes.lines] == [False, False, True]
    [told] = details.events
    assert (told.name.text, told.after_ns, told.attributes.lines[0].value.text) == ("told", MS, "true")
    assert details.parent is not None
    assert details.parent.title == "invoke_agent written"


def test_what_is_left_out_of_a_span_is_said(tmp_path: Path) -> None:
    """Characters of any text of it, attributes, events and links; of a span that is shown whole nothing is said."""
    long = "w" * (MOST_CHARACTERS + 7)
    event = SpanEvent(time_ns=BEGUN + MS, name="told", attributes={})
    links = tuple(SpanLink(trace_id="b" * 32, span_id=f"{n:016x}") for n in range(MOST_LINKS + 1))
    odd = span(
        2,
        1,
        0,
        MS,
        long,
        is_error=True,
        status_message=long,
        attributes={f"k{n:03}": n for n in range(MOST_ATTRIBUTES + 2)},
        events=(event,) * (MOST_EVENTS + 3),
        links=links,
    )
    write_run(tmp_path, "run", [root(9 * MS), odd])
    pages = bare_pages(tmp_path)

    shown, whole = (pages.get(f"/runs/run/spans/{number:016x}").text for number in (2, 1))

    assert shown.count("7 more characters") >= 2  # its name and its status
    for said in ("2 more attributes are", "3 more events are", "One more link is"):
        assert said in shown
    assert "more" not in whole.partition('class="wf-details"')[2].partition("<h2")[0]


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
