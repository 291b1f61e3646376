"""What spans are called in addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import given

from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.web.span_handles import span_handles

from ..read.strategies import forests

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_a_span_is_called_by_its_id_where_that_is_plain_and_its_own() -> None:
    """With the trace id where two traces have it; by its position where the id is none, odd or there twice."""
    keys = [("t", "aa"), ("u", "aa"), ("u", "aa"), ("t", ""), ("t", "<b>"), ("t", "x" * 33)]
    spans = [StoredSpan(trace_id=t, span_id=s, name=str(n), start_ns=1, end_ns=2) for n, (t, s) in enumerate(keys)]
    found = span_handles(build(spans))

    assert found.handles == ("aa", "u-aa", "~2", "~3", "~4", "~5")
    assert found.places["u", "aa"] == 1


@given(forests())
def test_every_handle_is_fit_for_an_address_and_leads_back_to_its_span(spans: Sequence[StoredSpan]) -> None:
    """Of any forest."""
    found = span_handles(build(spans))

    assert all(re.fullmatch(r"[0-9A-Za-z~-]+", handle) for handle in found.handles)
    assert [found.positions[handle] for handle in found.handles] == list(range(len(found.handles)))
