"""Deliveries are counted by run, in bounded memory."""

from __future__ import annotations

from traced_loop.export.run_deliveries import MAX_RUNS, RunDeliveries, Tally


def test_spans_wait_until_they_are_sent() -> None:
    """Taken or not, each for its own run."""
    runs = RunDeliveries()
    for run_id in ("r", "r", "other"):
        runs.handed(run_id)
    assert runs.of("r") == Tally(handed=2)

    runs.sent({"r": 1}, taken=True)
    runs.sent({"r": 1, "other": 1}, taken=False)

    assert runs.of("r") == Tally(handed=2, accepted=1, refused=1)
    assert runs.of("other") == Tally(handed=1, refused=1)
    assert runs.of("never seen") is None


def test_what_was_refused_can_be_taken_after_all() -> None:
    """Never more of it than was refused."""
    runs = RunDeliveries()
    for _ in range(3):
        runs.handed("r")
    runs.sent({"r": 1}, taken=True)
    runs.sent({"r": 2}, taken=False)

    runs.resent({"r": 1, "never seen": 4})
    assert runs.of("r") == Tally(handed=3, accepted=2, refused=1)

    runs.resent({"r": 9})
    assert runs.of("r") == Tally(handed=3, accepted=3)


def test_runs_that_are_not_known_are_nobodys() -> None:
    """A library's span may name any."""
    runs = RunDeliveries()
    runs.sent({"r": 2}, taken=True)
    assert runs.of("r") is None


def test_ten_thousand_runs_take_the_memory_of_the_last_thousand() -> None:
    """A run that goes on is not forgotten for those that began after it."""
    runs = RunDeliveries()
    for number in range(1, 10_001):
        for run_id in (f"run-{number}", "long"):
            runs.handed(run_id)
            runs.sent({run_id: 1}, taken=True)
    assert runs.of("run-1") is None
    assert runs.of("run-10000") == Tally(handed=1, accepted=1)
    assert runs.of("long") == Tally(handed=10_000, accepted=10_000)
    assert sum(runs.of(f"run-{number}") is not None for number in range(1, 10_001)) == MAX_RUNS - 1
