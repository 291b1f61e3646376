"""Spans that end after their run."""

import threading

import pytest

from traced_loop import names
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedClock, Spans


def test_it_begins_in_the_run_and_ends_in_any_thread_after_it() -> None:
    """Under the root, whatever was open when it began; its start is recorded with its end only."""
    spans, clock = Spans(), CountedClock()
    telemetry = Telemetry(sink=spans, clock=clock)
    with (
        telemetry.run(telemetry.scope("run-1"), names.INVOKE_AGENT, {}) as root,
        telemetry.span(names.STEP, {}) as step,
    ):
        later = telemetry.later(names.LATE_COMPLETION, {names.CALL_ID: "c1"}, links=(step.id,))
    assert spans.open == []

    def end() -> None:
        clock.advance(2)
        with later.opened() as span:
            span.set({names.LATE_SECONDS: later.seconds()})

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()

    (span,) = spans.named(names.LATE_COMPLETION)
    assert ((span.trace_id, span.parent_id), span.links, span.run_id) == (root.id, (step.id,), "run-1")
    assert span.start_ns < root.record.end_ns < span.end_ns
    assert 2 < span.attributes[names.LATE_SECONDS] < 2.1


def test_outside_of_a_run_there_is_none() -> None:
    """As for every span."""
    with pytest.raises(RuntimeError, match="outside of a run"):
        Telemetry().later(names.LATE_COMPLETION, {})
