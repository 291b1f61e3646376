"""Spans on their way out, in a bounded queue, and the thread that sends them in batches.

The standard variables ``OTEL_BSP_*`` mean here what they mean to the SDK: how many wait at most, how many go together,
and how long a batch that is not full waits. A full queue drops its oldest.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

from opentelemetry import context as otel_context

from traced_loop.errors import UsageError
from traced_loop.export.late_import import IDLE_SECONDS
from traced_loop.frozen_value import frozen_value

MOST: Final = "OTEL_BSP_MAX_QUEUE_SIZE"
BATCH: Final = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
DELAY: Final = "OTEL_BSP_SCHEDULE_DELAY"
LAST_SECONDS: Final = 30.0
"""A queue that was closed begins no batch after that time, whether or not anybody still waits for it.

One that was begun takes as long as its exporter takes."""

_SUPPRESSED: Final[str | None] = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", None)
_LOGGER: Final = logging.getLogger("traced_loop.export")
_WORDS: Final[Mapping[str, str]] = {MOST: "max_queue_size", BATCH: "max_export_batch_size", DELAY: "schedule_delay"}
Waiting = TypeVar("Waiting")


@frozen_value
class QueueLimits:
    """How many spans wait at most, how many are sent together, and seconds until fewer are sent.

    The defaults are the SDK's. A wait that no clock can take is as long as one can.
    """

    most: int = 2_048
    batch: int = 512
    delay: float = 5.0


def queue_limits(environment: Mapping[str, str]) -> QueueLimits:
    """What the environment says; a text that is no number is told and left aside.

    Raises:
        UsageError: a number that cannot be used.
    """
    usual = QueueLimits()
    most = _number(environment, MOST, usual.most)
    batch = _number(environment, BATCH, usual.batch)
    delay = min(_number(environment, DELAY, int(usual.delay * 1_000)), int(threading.TIMEOUT_MAX) * 1_000)
    if batch > most:
        raise UsageError(f"{BATCH}={batch}: max_export_batch_size cannot exceed max_queue_size ({MOST}={most})")
    return QueueLimits(most=most, batch=batch, delay=delay / 1_000)


def _number(environment: Mapping[str, str], name: str, usual: int) -> int:
    given = environment.get(name, "").strip() or str(usual)
    try:
        number = int(given)
    except ValueError:
        _LOGGER.warning("%s=%.40s is no number: %s is taken", name, given, usual)
        return usual
    if number <= 0:
        raise UsageError(f"{name}={given}: {_WORDS[name]} must be positive")
    return number


class SpanQueue(Generic[Waiting]):
    """Any thread may put; one thread of its own sends."""

    def __init__(
        self,
        limits: QueueLimits,
        send: Callable[[list[Waiting]], None],
        dropped: Callable[[Waiting], None],
        over: Callable[[], None],
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """Start nothing yet: see ``begin``.

        Args:
            limits: see there.
            send: sends a batch, waits for the answer, and counts it; what it raises costs no other batch.
            dropped: told of a span that had no place any more.
            over: called in the queue's thread after its last batch.
            idle: called there once, as soon as it has had nothing to do for ``IDLE_SECONDS``.
        """
        self._limits = limits
        self._send = send
        self._dropped = dropped
        self._over = over
        self._idle = idle
        self.handed = 0
        """Spans that were put, those that found it closed included."""

    def begin(self) -> None:
        """Start the thread; again in a forked child, whose parent sends what it had."""
        self._lock = threading.RLock()  # a signal handler may end a span in the middle
        self._sending = threading.Lock()
        self._wake: SimpleQueue[None] = SimpleQueue()  # an Event's set() waits for itself where a signal comes in it
        self._waiting: deque[Waiting] = deque()
        self._last: float | None = None
        self.handed = 0
        threading.Thread(target=self._work, name="traced-loop-export", daemon=True).start()

    def put(self, span: Waiting) -> None:
        """Have it sent; never waits for anything."""
        lost = None
        with self._lock:
            self.handed += 1
            if self._last is not None:
                return
            self._waiting.append(span)
            count = len(self._waiting)
            if count > self._limits.most:
                lost = self._waiting.popleft()
        if lost is not None:
            self._dropped(lost)
        if count >= self._limits.batch and self._wake.empty():
            self._wake.put(None)

    def flush(self) -> None:
        """Send all that waits, in this thread."""
        while self._send_some():
            pass

    def close(self) -> None:
        """Take no more spans, and have the thread send what waits and come to its end."""
        with self._lock:
            if self._last is None:
                self._last = time.monotonic() + LAST_SECONDS
        self._wake.put(None)

    def _work(self) -> None:
        try:
            last = self._send_until_closed()
            while time.monotonic() < last and self._send_some():
                pass
        finally:
            self._over()

    def _send_until_closed(self) -> float:
        before = min(IDLE_SECONDS, self._limits.delay)
        if not self._woken(before):
            self._idle()
        self._send_full()
        while self._last is None:
            if not self._woken(self._limits.delay - before):
                self._send_some()
            self._send_full()
            before = 0.0
        return self._last

    def _send_full(self) -> None:
        while self._last is None and len(self._waiting) >= self._limits.batch:
            self._send_some()

    def _woken(self, seconds: float) -> bool:
        """Whether something was to be done within so many seconds."""
        try:
            self._wake.get(timeout=seconds)
        except Empty:
            return False
        return True

    def _send_some(self) -> bool:
        with self._sending:
            with self._lock:
                count = min(len(self._waiting), self._limits.batch)
                batch = [self._waiting.popleft() for _ in range(count)]
            if batch:
                self._send_alone(batch)
        return bool(batch)

    def _send_alone(self, batch: list[Waiting]) -> None:
        """Send where instrumentations of the client that sends leave its requests alone: they are not the program's."""
        token = (
            otel_context.attach(otel_context.set_value(_SUPPRESSED, value=True)) if _SUPPRESSED is not None else None
        )
        try:
            with suppress(Exception):  # one batch is lost then, and not the thread, which all others need
                self._send(batch)
        finally:
            if token is not None:
                otel_context.detach(token)
