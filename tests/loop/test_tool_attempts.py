"""The tries of one tool call."""

import asyncio
from typing import Any

import pytest

from traced_loop import (
    InvalidArguments,
    Loop,
    NotApplied,
    Policy,
    ScriptedModel,
    StopReason,
    ToolError,
    partial_result,
    tool,
)
from traced_loop.events import AttemptFailed, Event
from traced_loop.loop import tool_attempts
from traced_loop.loop.tool_attempts import FIRST_DELAY
from traced_loop.outcomes import Outcome
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import CountedClock, Played, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits longer than it must."""
    monkeypatch.setattr(tool_attempts, "FIRST_DELAY", 0.002)


def failing(errors: list[BaseException], *, retries: int, sync: bool = True, **options: Any) -> Tool:
    """A read that raises these, one per try, and then works."""

    def look() -> str:
        """Look."""
        if errors:
            raise errors.pop(0)
        return "seen"

    async def look_later() -> str:
        """Look."""
        return look()

    wanted: dict[str, Any] = {"effect": "read", "name": "look", "retries": retries, **options}
    return tool(**wanted)(look) if sync else tool(**wanted)(look_later)


def looked(errors: list[BaseException], *, retries: int, **options: Any) -> Played:
    """A run with one call of such a tool."""
    return play([calls(("look", {})), "done"], [failing(errors, retries=retries, **options)])


def tree(played: Played) -> list[str]:
    """The call's part of the tree."""
    lines = played.tree()
    first = next(n for n, line in enumerate(lines) if "execute_tool" in line)
    return [line[4:] for line in lines[first:] if line.startswith(("    execute_tool", "      attempt"))]


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_a_read_is_tried_again_after_a_transient_error(sync: bool) -> None:
    """Each try is a span with an execution of its own; the error that was recovered is not on the call's."""
    played = looked([ConnectionError("lost"), ToolError("busy", transient=True)], retries=2, sync=sync)

    assert tree(played) == ["execute_tool look -> ok", "  attempt ERROR", "  attempt ERROR", "  attempt"]
    (call,) = played.spans.named("execute_tool")
    tries = [span.attributes for span in played.spans.named("traced_loop.attempt")]
    assert [t["traced_loop.attempt.number"] for t in tries] == [1, 2, 3]
    assert {t["traced_loop.attempt.kind"] for t in tries} == {"tool"}
    assert [t.get("error.type") for t in tries] == ["ConnectionError", "tool_error", None]
    assert len({t["traced_loop.execution.id"] for t in tries} | {call.attributes["traced_loop.execution.id"]}) == 4
    assert "error.type" not in call.attributes
    assert played.result.usage.tool_calls == 1


def test_a_try_that_failed_is_told_before_the_next_is_made() -> None:
    """Of which call, why, and how long the wait is; the last error is the call's, and no try that failed."""
    seen: list[Event] = []
    errors: list[BaseException] = [ConnectionError("lost"), ToolError("busy", transient=True), ConnectionError("lost")]
    play([calls(("look", {})), "done"], [failing(errors, retries=2)], on_event=seen.append)

    tries = [event for event in seen if isinstance(event, AttemptFailed)]
    assert [(event.step, event.number, event.error_type, event.call) for event in tries] == [
        (1, 1, "ConnectionError", ("call_1", "look")),
        (1, 2, "tool_error", ("call_1", "look")),
    ]
    assert all(0 < event.delay <= 0.004 for event in tries)


def test_a_callback_that_raises_at_a_failed_try_ends_the_run() -> None:
    """As at every other event; the call is answered, and no span stays open."""
    spans = Spans()

    def raising(event: Event) -> None:
        if isinstance(event, AttemptFailed):
            raise ZeroDivisionError

    loop = Loop(
        ScriptedModel([calls(("look", {}))]),
        [failing([ConnectionError("lost")], retries=1)],
        on_event=raising,
        wiring=counted_wiring(spans),
    )
    with pytest.raises(ZeroDivisionError):
        loop.run("Go.")

    assert (spans.open, spans.outcomes()) == ([], {"call_1": [Outcome.CANCELLED]})


def test_what_works_at_once_has_no_span_of_a_try() -> None:
    """Nor has what fails for good."""
    assert tree(looked([], retries=2)) == ["execute_tool look -> ok"]
    assert tree(looked([ValueError("no")], retries=2)) == ["execute_tool look -> error ERROR"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("no"), Outcome.ERROR),
        (ToolError("no"), Outcome.ERROR),
        (InvalidArguments("no"), Outcome.INVALID),
        (asyncio.CancelledError(), Outcome.ERROR),
    ],
)
def test_only_what_may_work_later_is_tried_again(error: BaseException, outcome: Outcome) -> None:
    """A deterministic error would come again."""
    played = looked([error], retries=2)

    assert played.spans.outcomes() == {"call_1": [outcome]}
    assert played.spans.named("traced_loop.attempt") == []


def test_when_no_try_is_left_the_last_error_is_the_calls() -> None:
    """One more than ``retries`` are made; what stands on the call is what the last one said."""
    played = looked([ConnectionError("a"), ConnectionError("b"), TimeoutError("c"), ConnectionError("d")], retries=2)

    assert tree(played)[0] == "execute_tool look -> error ERROR"
    assert len(played.spans.named("traced_loop.attempt")) == 3
    assert played.spans.named("execute_tool")[0].attributes["error.type"] == "TimeoutError"
    assert "TimeoutError: c" in played.result.messages[2]["content"]


def test_no_try_begins_after_the_calls_time() -> None:
    """The timeout is for all tries and the waits between them."""
    clock = CountedClock()

    @tool(effect="read", retries=5, timeout=10)
    def look() -> str:
        """Look."""
        clock.advance(6)
        raise ConnectionError

    played = play([calls(("look", {})), "done"], [look], clock=clock)

    assert len(played.spans.named("traced_loop.attempt")) == 2
    assert played.spans.outcomes() == {"call_1": [Outcome.ERROR]}


def test_a_later_try_that_hangs_ends_with_the_calls_time() -> None:
    """The try and the call have timed out."""
    errors: list[BaseException] = [ConnectionError()]

    @tool(effect="read", retries=1, timeout=1)
    async def look() -> None:
        """Look."""
        if errors:
            raise errors.pop()
        await asyncio.Event().wait()

    played = play([calls(("look", {}))], [look])

    assert tree(played) == ["execute_tool look -> timed_out ERROR", "  attempt ERROR", "  attempt ERROR"]
    assert played.spans.named("traced_loop.attempt")[1].attributes["error.type"] == "timeout"
    assert played.result.stop_reason is StopReason.TOOL_TIMEOUT


def test_the_waits_grow_and_are_the_same_in_every_counted_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their jitter is made from the execution's id."""

    def delays() -> list[Any]:
        played = looked([ConnectionError(), ConnectionError(), ConnectionError()], retries=3)
        return [s.attributes["traced_loop.attempt.delay_ms"] for s in played.spans.named("traced_loop.attempt")]

    monkeypatch.setattr(tool_attempts, "FIRST_DELAY", 0.02)
    waited = delays()

    assert waited == delays()
    assert [low <= ms <= high for (low, high), ms in zip([(0, 0), (15, 20), (30, 40), (60, 80)], waited, strict=True)]
    assert FIRST_DELAY == 0.1


def test_a_run_that_is_cancelled_between_two_tries_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is answered as cancelled, and the exception goes on with what was reached."""
    monkeypatch.setattr(tool_attempts, "FIRST_DELAY", 60.0)
    monkeypatch.setattr(tool_attempts, "MAX_DELAY", 60.0)
    failed = asyncio.Event()

    class Noted(Spans):
        def ended(self, span: SpanRecord) -> None:
            super().ended(span)
            if span.name == "traced_loop.attempt":
                failed.set()

    spans = Noted()

    @tool(effect="read", retries=1, timeout=300)
    async def look() -> None:
        """Look."""
        raise ConnectionError

    async def cancel() -> None:
        loop = Loop(ScriptedModel([calls(("look", {}))]), [look], budget=None, wiring=counted_wiring(spans))
        task = asyncio.create_task(loop.arun("Go."))
        await failed.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(cancel())

    left = partial_result(cancelled.value)
    assert left is not None
    assert (left.stop_reason, left.abandoned, spans.open) == (StopReason.CANCELLED, (), [])
    assert spans.outcomes() == {"call_1": [Outcome.CANCELLED]}


def test_a_write_is_never_tried_again() -> None:
    """Not even after an error that says that nothing was applied."""
    ran: list[int] = []

    @tool(effect="write")
    def pay() -> None:
        """Pay."""
        ran.append(1)
        raise NotApplied("busy", transient=True)

    play([calls(("pay", {})), "done"], [pay], policy=Policy(confirm=lambda _: True))

    assert ran == [1]
