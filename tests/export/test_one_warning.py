"""A line that is said once, and is out when anybody who says it goes on."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from traced_loop.export import one_warning
from traced_loop.export.one_warning import OneWarning
from traced_loop.export.quiet_exporters import MAX_REASON
from traced_loop.telemetry.attributes import valid_text

from ..hangs import HANGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = "spans do not reach %s (%s)"


@contextmanager
def handled(handle: Callable[[logging.LogRecord], None]) -> Iterator[list[str]]:
    """The lines that come out, each when the function has returned."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            handle(record)
            lines.append(record.getMessage())

    handler, logger = Handler(), logging.getLogger("traced_loop.export")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


def test_it_is_said_once() -> None:
    """With the last words of the exporter, or what is said where it has none."""
    warning = OneWarning()
    with handled(lambda _: None) as lines:
        warning.say(TEXT, "there", ["first", "last"], "otherwise")
        warning.say(TEXT, "there", [], "otherwise")
    assert lines == ["spans do not reach there (last)"]


def test_whoever_says_it_too_waits_until_it_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a process could end before the thread that was first has written it."""
    monkeypatch.setattr(one_warning, "MOST_SECONDS", HANGS)
    warning, begun, asked, goes_on = OneWarning(), *(threading.Event() for _ in range(3))
    out: list[list[str]] = []
    acquire = warning._saying.acquire

    def slow(_: logging.LogRecord) -> None:
        begun.set()
        goes_on.wait(HANGS)

    class Asked:
        release = warning._saying.release

        def acquire(self, timeout: float) -> bool:
            if begun.is_set():
                asked.set()
            return acquire(timeout=timeout)

    def second() -> None:
        warning.say(TEXT, "there", [], "not in time")
        out.append(list(lines))

    monkeypatch.setattr(warning, "_saying", Asked())
    with handled(slow) as lines:
        first = threading.Thread(target=warning.say, args=(TEXT, "there", [], "refused"))
        first.start()
        begun.wait(HANGS)
        other = threading.Thread(target=second)
        other.start()
        asked.wait(HANGS)
        goes_on.set()
        for thread in (first, other):
            thread.join(HANGS)
    assert out == [["spans do not reach there (refused)"]]


def test_a_handler_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than ``MOST_SECONDS``; in a forked child, which has no such thread, not at all."""
    monkeypatch.setattr(one_warning, "MOST_SECONDS", 0.0)
    warning, begun, goes_on = OneWarning(), threading.Event(), threading.Event()

    def hang(_: logging.LogRecord) -> None:
        begun.set()
        goes_on.wait(HANGS)

    with handled(hang) as lines:
        first = threading.Thread(target=warning.say, args=(TEXT, "there", [], "refused"))
        first.start()
        begun.wait(HANGS)
        warning.say(TEXT, "there", [], "not in time")
        before = list(lines)
        warning.renew()
        assert warning._saying.acquire(blocking=False)
        goes_on.set()
        first.join(HANGS)
    assert before == []


def test_a_handler_that_raises_costs_its_line() -> None:
    """And nothing else is said for it."""

    def broken(_: logging.LogRecord) -> None:
        raise ValueError

    warning = OneWarning()
    with handled(broken) as lines:
        warning.say(TEXT, "there", [], "otherwise")
        warning.say(TEXT, "there", [], "otherwise")
    assert lines == []


def test_a_handler_that_says_it_again_is_not_waited_for() -> None:
    """As a signal handler may, that closes everything in the middle of it."""
    warning = OneWarning()
    with handled(lambda _: warning.say(TEXT, "there", [], "again")) as lines:
        warning.say(TEXT, "there", [], "first")
    assert lines == ["spans do not reach there (first)"]


@pytest.mark.parametrize("word", ["no", "connection", "x" * 900, "ä" * 7, "\ud800"])
def test_long_last_words_are_cut_between_words(word: str, caplog: pytest.LogCaptureFixture) -> None:
    """And it is seen that there was more."""
    OneWarning().say("%s: %s", "here", [" ".join([word] * 400)], "")
    OneWarning().say("%s: %s", "here", [" ".join([word] * 10)], "")

    shown, whole = (record.getMessage().removeprefix("here: ") for record in caplog.records)

    assert (len(shown.encode()) <= MAX_REASON, shown.endswith(" ...")) == (True, True)
    assert len(word) > MAX_REASON or set(shown.removesuffix(" ...").split()) == set(valid_text(word).split())
    assert len(word) > MAX_REASON or not whole.endswith("...")
