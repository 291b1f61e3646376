"""A run that was cancelled tells what it was doing, and which signal ended it where that is known."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, Policy, ScriptedModel, tool
from traced_loop.cancellation import signal_word
from traced_loop.diagnose.diagnosis import Diagnosis, diagnose
from traced_loop.diagnose.finding import Finding, FindingKind
from traced_loop.testing import CountedClock, CountedIds, Spans, calls, counted_wiring

from .stored_runs import SECOND, stored_run

if TYPE_CHECKING:
    from collections.abc import Callable


def cancelled(name: str, *, said: str | None = None) -> tuple[Diagnosis, Finding]:
    """A run that is cancelled 20 s after that tool was asked for, or asked about; with the finding about its end."""
    spans, ids, clock = Spans(), CountedIds(), CountedClock()

    async def end() -> None:
        clock.advance(20)
        running.cancel(said)
        await asyncio.sleep(60)

    @tool(effect="read")
    async def slow() -> str:
        """Takes long."""
        await end()
        return "late"

    @tool(effect="write")
    async def pay() -> str:
        """Takes long, too."""
        await end()
        return "paid"

    @tool(effect="write")
    async def reserve() -> str:
        """Is asked about."""
        return "reserved"

    async def ask(pending: Any) -> bool:
        if pending.tool == "reserve":
            await end()
        return True

    async def run() -> None:
        nonlocal running
        wiring = counted_wiring(spans, clock, ids)
        tools = [slow, pay, reserve]
        loop = Loop(ScriptedModel([calls((name, {}))]), tools, wiring=wiring, ids=ids, policy=Policy(confirm=ask))
        running = asyncio.create_task(loop.arun("Go."))
        with suppress(asyncio.CancelledError):
            await running

    running: asyncio.Task[Any]
    asyncio.run(run())
    found = diagnose(stored_run(spans))
    [finding] = [each for each in found.findings if each.kind is FindingKind.STOPPED]
    return found, finding


def test_a_wait_for_a_person_that_was_cut_off_is_time_of_that_person() -> None:
    """It is not the loop's own, and the call that was asked about is named."""
    found, finding = cancelled("reserve")

    assert "it was waiting for a person to decide about reserve (call_1), for 20 s" in finding.title
    assert found.time.wall_ns["confirmation"] >= 20 * SECOND
    assert found.time.wall_ns["harness"] < SECOND
    assert finding.calls == (0,)


def test_a_tool_that_was_cut_off_did_not_fail() -> None:
    """The end tells of it, and nobody is to mend the tool's errors."""
    found, finding = cancelled("slow")

    assert "it was in slow (call_1)" in finding.title
    assert "ToolError" not in " ".join(each.prevent for each in found.findings)
    assert FindingKind.FAILING_TOOL not in {each.kind for each in found.findings}


def test_a_write_that_was_cut_off_is_to_be_looked_for() -> None:
    """Nobody knows whether it was applied."""
    _, finding = cancelled("pay")

    assert "it was in pay (call_1)" in finding.title
    assert "look whether pay was applied" in finding.prevent


@pytest.mark.parametrize("word", ["Ctrl-C", "SIGTERM"])
def test_the_signal_is_named_where_the_cancellation_says_it(word: str) -> None:
    """In the detail of the stop."""
    _, finding = cancelled("slow", said=word)

    assert f"cancelled: {word} ended it; it was in slow (call_1)" in finding.title


WORDS: dict[str, tuple[Callable[[], BaseException], str | None]] = {
    "Ctrl-C": (KeyboardInterrupt, "Ctrl-C"),
    "a handler's word": (lambda: KeyboardInterrupt("SIGTERM"), "SIGTERM"),
    "a caller's own text": (lambda: asyncio.CancelledError("the key is sk-123"), None),
    "a text of Ctrl-C's": (lambda: KeyboardInterrupt("the key is sk-123"), None),
    "no word": (asyncio.CancelledError, None),
}


@pytest.mark.parametrize(("made", "word"), WORDS.values(), ids=list(WORDS))
def test_no_text_of_an_exception_is_taken_for_a_signal(made: Callable[[], BaseException], word: str | None) -> None:
    """Only the two words are, which tell nothing about anybody."""
    assert signal_word(made()) == word
