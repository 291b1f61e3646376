"""One clock: wall time for what people read, taken once; a monotonic clock for everything that passes after it."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where a run gets its times from."""

    def now_ns(self) -> int:
        """Nanoseconds since 1970; never goes backwards."""
        ...

    def seconds(self) -> float:
        """Seconds on the same clock, for differences."""
        ...

    def ticks(self) -> int:
        """Nanoseconds of wall time since any moment, for what telemetry itself costs."""
        ...


class SystemClock:
    """Wall time at its creation plus monotonic time since: no span gets a negative duration when the clock is set."""

    __slots__ = ("_offset",)

    ticks = staticmethod(time.perf_counter_ns)
    """See ``Clock.ticks``."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """See ``Clock.now_ns``."""
        return time.monotonic_ns() + self._offset

    def seconds(self) -> float:
        """See ``Clock.seconds``."""
        return time.monotonic()
