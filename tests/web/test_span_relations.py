"""What spans refer to, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.read.trace import SpanLink
from traced_loop.web.span_handles import span_handles
from traced_loop.web.span_relations import MOST_LINKS, RelationKind, relations_of

from ..read.strategies import forests
from .written_runs import TRACE, root, span

if TYPE_CHECKING:
    from traced_loop.read.trace import StoredSpan

TO_FIRST = SpanLink(trace_id=TRACE, span_id=f"{2:016x}")


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("execute_tool look", {names.REPETITION_KIND: "identical_call"}, RelationKind.REPEATS),
        (names.CHECK_BUDGET, {names.REPETITION_KIND: "equal_steps"}, RelationKind.REPEATS),
        (names.REPLAY, {names.REPETITION_KIND: "identical_call"}, RelationKind.REPLAYS),
        (names.LATE_COMPLETION, {}, RelationKind.LATE_END),
        ("execute_tool undo", {names.COMPENSATION_CALL_ID: "call_1"}, RelationKind.UNDOES),
        ("invoke_agent a", {names.GEN_AI_OPERATION: names.INVOKE_AGENT}, RelationKind.RESUMES),
        ("anything", {}, RelationKind.LINKS),
    ],
)
def test_a_link_is_called_by_what_made_it(name: str, attributes: dict[str, Any], kind: RelationKind) -> None:
    """The target is the position of the linked span."""
    trace = build(
        [root(9), span(2, 1, 1, 1, "first"), span(3, 1, 3, 1, name, attributes=attributes, links=(TO_FIRST,))]
    )
    (found,) = relations_of(trace, span_handles(trace), 2)

    assert (found.kind, found.target) == (kind, 1)


def test_a_try_refers_to_the_one_before_it() -> None:
    """Of its own parent; the first refers to none."""
    tries = [span(2 + n, 1, n, 1, names.ATTEMPT, attributes={names.ATTEMPT_NUMBER: 1 + n}) for n in range(3)]
    trace = build([root(9), *tries])
    handles = span_handles(trace)

    found = [[r.target for r in relations_of(trace, handles, n)] for n in (1, 2, 3)]

    assert found == [[], [1], [2]]


def test_a_link_out_of_the_trace_has_no_target_and_one_to_itself_is_none() -> None:
    """The ids are kept; the same link twice is one, and there is an end to their number."""
    away, itself = SpanLink(trace_id="f" * 32, span_id="9" * 16), SpanLink(trace_id=TRACE, span_id=f"{1:016x}")
    trace = build([root(9, links=(away, away, itself))])
    (found,) = relations_of(trace, span_handles(trace), 0)

    assert (found.target, found.trace_id, found.span_id) == (None, "f" * 32, "9" * 16)
    many = build([root(9, links=tuple(SpanLink(trace_id="f", span_id=str(n)) for n in range(500)))])
    assert len(relations_of(many, span_handles(many), 0)) == MOST_LINKS


@given(forests())
def test_every_target_is_another_span_of_the_trace(spans: list[StoredSpan]) -> None:
    """Of any forest."""
    trace = build(spans)
    handles = span_handles(trace)
    for n in range(len(trace.spans)):
        for relation in relations_of(trace, handles, n):
            assert relation.target != n
            assert relation.target is None or 0 <= relation.target < len(trace.spans)
