"""The clock of a run starts at wall time and never goes backwards."""

import time

from traced_loop.telemetry.clock import SystemClock


def test_times_begin_at_wall_time_and_never_go_back() -> None:
    """Readings are in order, and near to what the system says."""
    clock = SystemClock()
    readings = [clock.now_ns() for _ in range(1000)]
    assert readings == sorted(readings)
    assert abs(readings[0] - time.time_ns()) < 5_000_000_000


def test_seconds_pass_as_nanoseconds_do() -> None:
    """Both are the same clock."""
    clock = SystemClock()
    before_ns, before = clock.now_ns(), clock.seconds()
    passed, passed_ns = clock.seconds() - before, clock.now_ns() - before_ns
    assert 0 <= passed <= passed_ns / 1e9 + 0.001
