"""An event loop that waits for nothing: its clock jumps to what is due next, and so does the clock of a run on it.

What runs in a thread takes real time, of which the loop knows nothing. ``ThreadWork`` knows which threads are at work,
and no time passes before they have come back.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from traced_loop import names
from traced_loop.setup import Wiring
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import SpanRecord, Telemetry
from traced_loop.testing import CountedIds, Spans

T = TypeVar("T")

PATIENCE: Final = 30.0
"""Seconds without any news from threads after which those that were announced are taken to have never begun."""
STUCK_SECONDS: Final = 60.0
"""After so long without anything due the loop is taken to hang."""


class ThreadWork(Spans):
    """Which synchronous tools are at work: from the start of a span to what their thread gives back.

    A sink, since a span of a call starts on the event loop before there is a thread.
    """

    def __init__(self, *synchronous: str) -> None:
        """Know the names of the tools that run in threads."""
        super().__init__()
        self._names = {f"{names.EXECUTE_TOOL} {name}" for name in synchronous}
        self._spans: set[int] = set()
        self._lock = threading.Lock()
        self._going = 0
        self._changed = 0.0

    def started(self, span: SpanRecord) -> None:
        """See ``Sink.started``: a call, or a further try of one, is about to begin."""
        super().started(span)
        if span.name in self._names or (span.name == names.ATTEMPT and span.parent_id in self._spans):
            self._spans.add(span.span_id)
            self._count(1)

    def came_back(self) -> None:
        """A thread has something for the event loop."""
        self._count(-1)

    @contextmanager
    def hanging(self) -> Any:
        """For a tool: inside of it the thread will not come back by itself."""
        self._count(-1)
        try:
            yield
        finally:
            self._count(1)

    @property
    def busy(self) -> bool:
        """Whether a thread is at work."""
        with self._lock:
            if self._going > 0 and time.monotonic() - self._changed > PATIENCE:
                self._going = 0
            return self._going > 0

    def _count(self, more: int) -> None:
        with self._lock:
            self._going += more
            self._changed = time.monotonic()


class SkippingSelector(selectors.DefaultSelector):
    """Waits for threads only; time passes at once."""

    def __init__(self, work: ThreadWork | None) -> None:
        super().__init__()
        self.now = 0.0
        self._work = work

    def select(self, timeout: float | None = None) -> Any:
        """See ``selectors``."""
        if timeout is not None and timeout <= 0:
            return super().select(0)
        while self._work is not None and self._work.busy:
            if ready := super().select(0.002):
                return ready
        if timeout is None:
            if ready := super().select(STUCK_SECONDS):
                return ready
            raise RuntimeError("nothing is due on this event loop, and nothing comes")
        if ready := super().select(0):
            return ready
        self.now += timeout
        return []


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to what is due next."""

    def __init__(self, work: ThreadWork | None = None) -> None:
        """Wait for these threads, where there are some."""
        self._skipping = SkippingSelector(work)
        self._work = work
        super().__init__(self._skipping)

    def time(self) -> float:
        """See ``asyncio``."""
        return self._skipping.now

    def call_soon_threadsafe(self, *given: Any, **named: Any) -> Any:
        """See ``asyncio``: what a thread gives back comes this way."""
        handle = super().call_soon_threadsafe(*given, **named)
        if self._work is not None:
            self._work.came_back()
        return handle


class LoopClock:
    """The clock of a skipping loop, for spans too, each of which has a time of its own."""

    def __init__(self, loop: SkippingLoop) -> None:
        self._loop = loop
        self._read = 0

    def now_ns(self) -> int:
        """See ``Clock.now_ns``: a nanosecond more at each reading, so that spans have an order."""
        self._read += 1
        return round(self._loop.time() * 1e9) + self._read

    def seconds(self) -> float:
        """See ``Clock.seconds``."""
        return self._loop.time()

    def ticks(self) -> int:
        """See ``Clock.ticks``; stands still."""
        return 0


def skipping(work: Callable[[Wiring, SkippingLoop], Coroutine[Any, Any, T]], spans: Spans) -> T:
    """Run a coroutine on such a loop.

    Args:
        work: makes it, with a wiring whose clock is the loop's.
        spans: where they are kept; ``ThreadWork`` where there are threads.
    """
    threads = spans if isinstance(spans, ThreadWork) else None
    with asyncio.Runner(loop_factory=lambda: SkippingLoop(threads)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SkippingLoop)
        telemetry = Telemetry(sink=spans, clock=LoopClock(loop), ids=CountedIds())
        wiring = Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"a key for tests"))
        return runner.run(work(wiring, loop))
