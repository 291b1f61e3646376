"""A delivery keeps to its rate; its account adds up."""

from __future__ import annotations

from traced_loop.export.later_delivery import BATCH_SPANS
from traced_loop.export.store_delivery import Account, Owing, RatePace


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def test_a_rate_holds_from_the_first_span_on() -> None:
    """In requests of a second at most, and in sleeps that an interrupt need not wait for."""
    clock = Clock()
    naps: list[float] = []
    pace = RatePace(100, lambda seconds: naps.append(seconds) or clock.sleep(seconds), lambda: clock.now)
    assert pace.batch() == 100
    for _ in range(5):
        assert pace.sent(100)
    assert (round(clock.now, 6), max(naps) <= 0.25) == (5.0, True)


def test_a_low_rate_sends_one_at_a_time_and_none_knows_no_wait() -> None:
    """A span in ten seconds is a rate, too."""
    clock = Clock()
    slow = RatePace(0.1, clock.sleep, lambda: clock.now)
    assert (slow.batch(), slow.sent(1), round(clock.now, 6)) == (1, True, 10.0)
    fast = RatePace(None, clock.sleep, lambda: clock.now)
    assert (fast.batch(), fast.sent(10**6), round(clock.now, 6)) == (BATCH_SPANS, True, 10.0)


def test_an_account_is_complete_when_nothing_is_left_refused_or_running() -> None:
    """Its exit code depends on it."""
    done = {"to": "x", "taken": 3, "runs": 1}
    assert Account(**done, left=Owing()).complete
    assert not Account(**done, left=Owing(spans=1, runs=1)).complete
    assert not Account(**done, left=Owing(), refused={"invalid": 1}).complete
    assert not Account(**done, left=Owing(), running=1).complete
