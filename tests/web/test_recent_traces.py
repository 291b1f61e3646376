"""Traces that are kept for a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traced_loop.read.trace import StoredTrace
from traced_loop.web import recent_traces
from traced_loop.web.recent_traces import MOST_TRACES, RecentTraces

from .written_runs import root

if TYPE_CHECKING:
    import pytest


class Reading:
    """Traces that are asked for, and which were read."""

    def __init__(self, spans: int = 0) -> None:
        self.recent = RecentTraces()
        self.read: list[str] = []
        self.trace = StoredTrace(spans=(root(1),) * spans)

    def get(self, run_id: str, stamp: str = "1") -> StoredTrace:
        """As a view asks."""

        def read() -> StoredTrace:
            self.read.append(run_id + stamp)
            return self.trace

        return self.recent.get(run_id, stamp, read)


def test_a_trace_is_read_again_only_where_it_has_changed() -> None:
    """And not where another view has read it."""
    reading = Reading()
    reading.get("a")
    reading.get("a")
    reading.get("a", "2")
    reading.recent.keep("b", "1", StoredTrace())
    reading.get("b")

    assert reading.read == ["a1", "a2"]


def test_what_was_not_asked_for_in_a_while_is_given_up() -> None:
    """The last ones are kept."""
    reading = Reading()
    for number in range(MOST_TRACES + 1):
        reading.get(str(number))
    reading.read.clear()
    reading.get("1")
    reading.get("0")

    assert reading.read == ["01"]


def test_large_traces_are_given_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is kept however large it is."""
    monkeypatch.setattr(recent_traces, "MOST_SPANS", 5)
    reading = Reading(spans=6)
    reading.get("a")
    reading.get("a")
    reading.get("b")
    reading.get("a")

    assert reading.read == ["a1", "b1", "a1"]
