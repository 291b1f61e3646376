"""Deliveries are counted by run, whatever the queue drops, in bounded memory."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, TraceFlags

from traced_loop import names
from traced_loop.export.run_deliveries import MAX_RUNS, RunDeliveries, Tally


def span(number: int, run_id: str | None = "r") -> Any:
    """A span of a run, or of none."""
    context = SpanContext(1, number, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return ReadableSpan("span", context=context, attributes={names.RUN_ID: run_id} if run_id else {})


def test_spans_wait_until_they_are_sent() -> None:
    """Taken or not, each for its own run."""
    runs = RunDeliveries(10)
    first, second, other = span(1), span(2), span(3, "other")
    for each in (first, second, other):
        runs.handed(each)
    assert runs.of("r") == Tally(handed=2)

    runs.sent([first], taken=True)
    runs.sent([second, other], taken=False)

    assert runs.of("r") == Tally(handed=2, accepted=1, refused=1)
    assert runs.of("other") == Tally(handed=1, refused=1)
    assert runs.of("never seen") is None


def test_what_the_queue_dropped_is_known_when_later_spans_come_out() -> None:
    """The queue is in order, and says nothing when it drops its oldest."""
    runs = RunDeliveries(10)
    given = [span(number) for number in range(1, 6)]
    for each in given:
        runs.handed(each)

    runs.sent(given[3:4], taken=True)

    assert runs.of("r") == Tally(handed=5, accepted=1, refused=3)
    assert runs.dropped == 3


def test_more_than_can_wait_was_dropped() -> None:
    """Also while nothing comes out at all."""
    runs = RunDeliveries(3)
    for number in range(1, 11):
        runs.handed(span(number))
    assert runs.of("r") == Tally(handed=10, refused=7)
    assert runs.dropped == 7


def test_spans_of_no_run_are_nobodys() -> None:
    """A library's, or one that was sent twice."""
    runs = RunDeliveries(3)
    stranger = span(1, None)
    runs.handed(stranger)
    runs.sent([stranger, span(2)], taken=True)
    assert runs.of("r") is None


def test_ten_thousand_runs_take_the_memory_of_the_last_thousand() -> None:
    """A run that goes on is not forgotten for those that began after it."""
    runs = RunDeliveries(3)
    for number in range(1, 10_001):
        for each in (span(2 * number, f"run-{number}"), span(2 * number + 1, "long")):
            runs.handed(each)
            runs.sent([each], taken=True)
    assert runs.of("run-1") is None
    assert runs.of("run-10000") == Tally(handed=1, accepted=1)
    assert runs.of("long") == Tally(handed=10_000, accepted=10_000)
    assert sum(runs.of(f"run-{number}") is not None for number in range(1, 10_001)) == MAX_RUNS - 1
