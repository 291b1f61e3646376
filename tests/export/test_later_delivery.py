"""Stored spans are sent at least once; a span that is refused alone costs only itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from traced_loop import names
from traced_loop.export.later_delivery import MAX_LONE_REFUSALS, Delivered, LaterDelivery
from traced_loop.export.store_delivery import RatePace
from traced_loop.export.watched_exporter import Answer, WatchedExporter
from traced_loop.records.owed_spans import Selection

from ..records.test_owed_spans import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

    from traced_loop.closed_words import Refusal

HOME = Selection(destination="home")


class Judging(SpanExporter):
    """Keeps what it takes; a function says of each request why it is refused."""

    def __init__(self, watched: WatchedExporter, judge: Callable[[list[int]], Refusal | None]) -> None:
        self.watched = watched
        self.judge = judge
        self.requests: list[list[int]] = []
        self.taken: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        ids = [span.context.span_id for span in spans if span.context is not None]
        self.requests.append(ids)
        refusal = self.judge(ids)
        self.watched.answered(Answer(refusal, "no"))
        if refusal is None:
            self.taken += spans
        return SpanExportResult.SUCCESS if refusal is None else SpanExportResult.FAILURE


class Sending:
    """A store, and a delivery of it to an exporter that judges."""

    def __init__(self, folder: Path, judge: Callable[[list[int]], Refusal | None] = lambda _: None) -> None:
        self.recorded = Recorded(folder)
        made: list[Judging] = []
        watched = WatchedExporter(lambda watched: made.append(Judging(watched, judge)) or made[0])  # type: ignore[func-returns-value]
        watched.connected()
        self.exporter = made[0]
        self.delivery = LaterDelivery(self.recorded.owed, self.recorded.marks, watched)

    def deliver(self, **options: Any) -> Delivered:
        """Send what is owed."""
        return self.delivery.deliver(HOME, RatePace(None), **options)

    @property
    def ids(self) -> list[int]:
        """What was taken, in order."""
        return [span.context.span_id for span in self.exporter.taken if span.context is not None]


def test_spans_of_many_runs_go_in_one_request_as_they_were_recorded(tmp_path: Path) -> None:
    """Ids, times, kind, status and attributes; to whom they were owed is not sent."""
    sending = Sending(tmp_path / "s")
    sending.recorded.span(2**64 - 1, "a", root=True, **{names.RUN_STEPS: 3, names.RUN_COST_USD: 0.5, "k": True})
    sending.recorded.span(2, "b", list=("x", "y"))

    done = sending.deliver()

    assert (sending.exporter.requests, dict(done.taken)) == ([[2**64 - 1, 2]], {"a": 1, "b": 1})
    first, second = sending.exporter.taken
    assert dict(first.attributes or {}) == {names.RUN_ID: "a", names.RUN_STEPS: 3, names.RUN_COST_USD: 0.5, "k": True}
    assert (first.start_time, first.end_time, first.status.is_unset) == (1, 2, True)
    assert (second.attributes or {})["list"] == ("x", "y")
    assert first.instrumentation_scope is not None
    assert (first.instrumentation_scope.name, dict(first.instrumentation_scope.attributes or {})) == (names.SCOPE, {})
    assert sending.deliver().taken.total() == 0


def test_a_span_that_is_refused_alone_is_marked_and_the_others_arrive(tmp_path: Path) -> None:
    """In few requests: halves of halves."""
    sending = Sending(tmp_path / "s", lambda ids: "too_large" if 7 in ids else None)
    for number in range(1, 65):
        sending.recorded.span(number)

    done = sending.deliver()

    assert (done.taken.total(), dict(done.refused), done.stopped) == (63, {"too_large": 1}, None)
    assert sorted(sending.ids) == [n for n in range(1, 65) if n != 7]
    assert len(sending.exporter.requests) <= 2 * 6 + 1
    requests = len(sending.exporter.requests)
    assert (sending.deliver().taken.total(), len(sending.exporter.requests)) == (0, requests)


def test_a_lone_span_is_given_up_only_by_a_collector_that_is_well(tmp_path: Path) -> None:
    """An empty request tells: whoever refuses that refuses everything."""
    well = Sending(tmp_path / "well", lambda ids: "invalid" if ids else None)
    well.recorded.span(1)
    assert dict(well.deliver().refused) == {"invalid": 1}

    ill = Sending(tmp_path / "ill", lambda _: "invalid")
    ill.recorded.span(1)
    assert dict(ill.deliver().refused) == {}
    assert ill.recorded.ids(HOME) == [1]


def test_a_collector_that_refuses_everything_ends_it_soon(tmp_path: Path) -> None:
    """And keeps its claim on all of it."""
    sending = Sending(tmp_path / "s", lambda _: "partial_success")
    for number in range(1, 513):
        sending.recorded.span(number)
    done = sending.deliver()
    assert (done.stopped, dict(done.refused)) == ("partial_success", {})
    assert len(sending.exporter.requests) < 9 + 2 * MAX_LONE_REFUSALS
    assert len(sending.recorded.ids(HOME)) == 512


@pytest.mark.parametrize("refusal", ["redirect", "unauthorized", "busy", "unreachable", "not_found", "other"])
def test_trouble_with_the_collector_ends_it_at_once(tmp_path: Path, refusal: Refusal) -> None:
    """Halves would not help."""
    sending = Sending(tmp_path / "s", lambda _: refusal)
    for number in range(1, 5):
        sending.recorded.span(number)
    done = sending.deliver()
    assert (done.stopped, len(sending.exporter.requests), len(sending.recorded.ids(HOME))) == (refusal, 1, 4)


def test_a_span_that_breaks_a_collector_stays_owed(tmp_path: Path) -> None:
    """Status 500 is the collector's own fault: the others go, and it may be mended."""
    sending = Sending(tmp_path / "s", lambda ids: "server_error" if 2 in ids else None)
    for number in range(1, 5):
        sending.recorded.span(number)
    done = sending.deliver()
    assert (done.taken.total(), dict(done.refused), sending.recorded.ids(HOME)) == (3, {}, [2])


def test_a_damaged_line_is_given_up_with_a_word(tmp_path: Path) -> None:
    """It would be in the way for ever."""
    sending = Sending(tmp_path / "s")
    sending.recorded.span(1)
    sending.recorded.span(2)
    path = sending.recorded.owed.path("r")
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first.replace(b'"kind":1', b'"kind":{}') + second)
    done = sending.deliver()
    assert (dict(done.refused), sending.ids) == ({"unreadable": 1}, [2])
    assert list(sending.recorded.owed.runs(HOME)) == []


def test_a_pace_that_says_stop_stops_and_it_goes_on_later(tmp_path: Path) -> None:
    """Between two requests."""

    class Two(RatePace):
        def batch(self) -> int:
            return 2

        def sent(self, spans: int) -> bool:
            return False

    sending = Sending(tmp_path / "s")
    for number in range(1, 6):
        sending.recorded.span(number)
    done = sending.delivery.deliver(HOME, Two(None))
    assert (done.interrupted, sending.ids) == (True, [1, 2])
    sending.deliver()
    assert sending.ids == [1, 2, 3, 4, 5]


def test_a_run_that_is_being_sent_in_the_queue_is_left_out(tmp_path: Path) -> None:
    """The process's own pipeline has it."""
    sending = Sending(tmp_path / "s")
    sending.recorded.span(1, "a")
    sending.recorded.span(2, "b")
    sending.deliver(skip=lambda run_id: run_id == "a")
    assert sending.ids == [2]
