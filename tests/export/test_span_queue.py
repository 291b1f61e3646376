"""Spans wait in bounds, go in batches, and the oldest give way."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from traced_loop.errors import UsageError
from traced_loop.export import span_queue
from traced_loop.export.span_queue import BATCH, DELAY, MOST, QueueLimits, SpanQueue, queue_limits

from ..hangs import HANGS

if TYPE_CHECKING:
    from types import FrameType


class Sending:
    """A queue of numbers, and what it has sent."""

    def __init__(self, limits: QueueLimits) -> None:
        self.batches: list[list[int]] = []
        self.dropped: list[int] = []
        self.sent = threading.Event()
        self.over = threading.Event()
        self.may_send = threading.Event()
        self.may_send.set()
        self.queue: SpanQueue[int] = SpanQueue(limits, self._send, self.dropped.append, self.over.set)
        self.queue.begin()

    def _send(self, batch: list[int]) -> None:
        self.sent.set()
        self.may_send.wait(60)
        self.batches.append(batch)

    def put(self, *numbers: int) -> None:
        for number in numbers:
            self.queue.put(number)

    def close(self) -> None:
        self.queue.close()
        assert self.over.wait(60)


def test_a_full_batch_goes_at_once_and_the_rest_at_the_end() -> None:
    """In order."""
    sending = Sending(QueueLimits(most=10, batch=3, delay=600))
    sending.put(1, 2, 3)
    assert sending.sent.wait(60)
    sending.put(4)
    sending.close()
    assert (sending.batches, sending.dropped, sending.queue.handed) == ([[1, 2, 3], [4]], [], 4)


def test_a_batch_that_is_not_full_goes_when_it_has_waited() -> None:
    """``OTEL_BSP_SCHEDULE_DELAY``."""
    sending = Sending(QueueLimits(most=10, batch=5, delay=0.01))
    sending.put(1)
    assert sending.sent.wait(60)
    sending.close()
    assert sending.batches == [[1]]


def test_a_full_queue_drops_its_oldest_and_says_which() -> None:
    """While a request waits for its answer."""
    sending = Sending(QueueLimits(most=3, batch=3, delay=600))
    sending.may_send.clear()
    sending.put(1, 2, 3)
    assert sending.sent.wait(60)
    sending.put(4, 5, 6, 7, 8)
    sending.may_send.set()
    sending.close()
    assert sending.batches == [[1, 2, 3], [6, 7, 8]]
    assert sending.dropped == [4, 5]


def test_what_comes_after_the_end_is_counted_and_not_sent() -> None:
    """As the receipt has to know."""
    sending = Sending(QueueLimits())
    sending.put(1)
    sending.close()
    sending.put(2)
    sending.queue.close()
    assert (sending.batches, sending.queue.handed) == ([[1]], 2)


def test_flushing_sends_in_the_callers_thread() -> None:
    """All of it, in batches."""
    sending = Sending(QueueLimits(most=10, batch=2, delay=600))
    sending.put(1)
    sending.queue.flush()
    assert sending.batches == [[1]]
    sending.close()


def interrupted_put(sending: Sending, moment: int) -> list[str]:
    """Put 0, and 1 in the same thread at that line of it and of what it calls; the lines until then."""
    lines: list[str] = []

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        lines.append(f"{frame.f_code.co_name}:{frame.f_lineno} {event}")
        if len(lines) <= moment:
            return at_line
        sys.settrace(None)
        sending.put(1)
        return None

    def put() -> None:
        sys.settrace(at_line)
        try:
            sending.queue.put(0)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=put, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), lines
    return lines


def test_a_signal_handler_may_put_at_any_moment_of_a_put() -> None:
    """It runs in the thread that it interrupts: what that holds is held for good where it cannot be taken twice."""
    for moment in range(200):
        sending = Sending(QueueLimits(most=10, batch=1, delay=600))
        lines = interrupted_put(sending, moment)
        sending.close()
        sent = sorted(number for batch in sending.batches for number in batch)
        if len(lines) <= moment:
            assert sent == [0]
            break
        assert sent == [0, 1]
    assert 10 < moment < 199


def test_a_batch_that_cannot_be_sent_costs_no_other() -> None:
    """In the queue's thread and in one that flushes; the end is told whatever happens."""
    asked: list[list[int]] = []
    over = threading.Event()

    def send(batch: list[int]) -> None:
        asked.append(batch)
        raise PermissionError("no")

    queue: SpanQueue[int] = SpanQueue(QueueLimits(most=10, batch=2, delay=600), send, lambda _: None, over.set)
    queue.begin()
    for number in range(4):
        queue.put(number)
    queue.flush()
    queue.put(4)
    queue.close()
    assert over.wait(60)
    assert sorted(number for batch in asked for number in batch) == [0, 1, 2, 3, 4]


def test_no_request_of_its_own_is_traced_by_others() -> None:
    """Neither from its thread nor from one that flushes, whose own context stays as it was."""
    asked: list[bool] = []
    over = threading.Event()
    limits = QueueLimits(most=10, batch=5, delay=600)

    def send(_: list[int]) -> None:
        asked.append(is_instrumentation_enabled())

    queue: SpanQueue[int] = SpanQueue(limits, send, lambda _: None, over.set)
    queue.begin()
    queue.put(1)
    queue.flush()
    queue.put(2)
    queue.close()
    assert over.wait(60)
    assert (asked, is_instrumentation_enabled()) == ([False, False], True)


def test_each_of_many_threads_has_its_spans_sent_once() -> None:
    """Nothing is lost between them."""
    sending = Sending(QueueLimits(most=100_000, batch=7, delay=600))
    threads = [threading.Thread(target=sending.put, args=range(n * 1_000, n * 1_000 + 1_000)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sending.close()
    assert sorted(number for batch in sending.batches for number in batch) == list(range(8_000))


@pytest.mark.parametrize(
    ("environment", "limits"),
    [
        ({}, QueueLimits(most=2_048, batch=512, delay=5.0)),
        ({MOST: " 9 ", BATCH: "9", DELAY: "250"}, QueueLimits(most=9, batch=9, delay=0.25)),
        ({MOST: ""}, QueueLimits()),
        ({DELAY: "99999999999999"}, QueueLimits(delay=int(threading.TIMEOUT_MAX))),
        ({DELAY: "9" * 400}, QueueLimits(delay=int(threading.TIMEOUT_MAX))),
    ],
)
def test_the_standard_variables_say_how_much_waits(environment: dict[str, str], limits: QueueLimits) -> None:
    """With the SDK's own usual values."""
    assert queue_limits(environment) == limits


def test_a_delay_without_end_still_sends_what_is_full_and_what_is_left() -> None:
    """No clock can take such a wait as it is."""
    sending = Sending(queue_limits({DELAY: "99999999999999", BATCH: "2"}))
    sending.put(1, 2)
    assert sending.sent.wait(60)
    sending.put(3)
    sending.close()
    assert sending.batches == [[1, 2], [3]]


def test_a_text_that_is_no_number_is_told_and_left_aside(caplog: pytest.LogCaptureFixture) -> None:
    """As the SDK does."""
    assert queue_limits({BATCH: "many"}) == QueueLimits()
    assert [record.getMessage() for record in caplog.records] == [f"{BATCH}=many is no number: 512 is taken"]


@pytest.mark.parametrize("environment", [{MOST: "0"}, {BATCH: "-1"}, {DELAY: "0"}, {MOST: "5", BATCH: "6"}])
def test_numbers_that_cannot_be_used_are_refused(environment: dict[str, Any]) -> None:
    """With the variable's name."""
    with pytest.raises(UsageError, match="OTEL_BSP_"):
        queue_limits(environment)


def test_a_queue_that_has_nothing_to_do_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own thread; one that is woken before has something to do."""
    monkeypatch.setattr(span_queue, "IDLE_SECONDS", 0.0)
    idle, over = threading.Event(), threading.Event()
    limits = QueueLimits(most=10, batch=2, delay=600)
    queue: SpanQueue[int] = SpanQueue(limits, lambda _: None, lambda _: None, over.set, idle.set)
    queue.begin()
    assert idle.wait(HANGS)
    queue.close()
    assert over.wait(HANGS)
