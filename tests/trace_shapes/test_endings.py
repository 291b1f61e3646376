"""The span tree of every run that a tool, a cancellation or the harness ends."""

import asyncio
import threading

import pytest

from traced_loop import Loop, Policy, ScriptedModel, StopReason, ToolError, partial_result, tool
from traced_loop.events import Event, ModelAnswered
from traced_loop.outcomes import Outcome
from traced_loop.testing import Spans, calls, counted_wiring, play

APPROVED = Policy(confirm=lambda pending: True)


def one_call(reason: str, name: str, *handled: str) -> list[str]:
    """The tree of a run whose first call ends it."""
    return [
        f"invoke_agent agent -> {reason} ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        f"    validate_call {name} -> valid",
        *handled,
        "    append_results",
        "    check_budget step -> ok",
    ]


def test_tool_timeout() -> None:
    """A read that does not answer in its time ends the run, and its thread is left behind."""
    end = threading.Event()

    @tool(effect="read", timeout=0.05)
    def hang() -> None:
        """Wait for ever."""
        end.wait()

    played = play([calls(("hang", {}))], [hang])
    end.set()

    assert played.result.abandoned == ("hang",)
    assert played.tree() == one_call(
        "tool_timeout",
        "hang",
        "    authorize_call hang -> allow",
        "    check_budget batch -> ok",
        "    execute_tool hang -> timed_out ERROR",
    )


def test_outcome_unknown() -> None:
    """A write that raised after it had started may have happened: the run ends, whatever else is due."""

    @tool(effect="write")
    def pay() -> None:
        """Pay."""
        raise ConnectionResetError("connection lost")

    played = play([calls(("pay", {}))], [pay], policy=APPROVED)

    assert played.tree() == one_call(
        "outcome_unknown",
        "pay",
        "    authorize_call pay -> needs_confirmation",
        "    check_budget batch -> ok",
        "    authorize_call pay -> needs_confirmation",
        "    execute_tool pay -> unknown ERROR",
    )


def test_tool_failed() -> None:
    """A tool that raised ends the run where the loop says so; the reason stands on the call."""

    @tool(effect="read")
    def look() -> None:
        """Look."""
        raise ToolError("nothing there")

    played = play([calls(("look", {}))], [look], on_tool_error="stop")

    assert played.result.stop_detail == "look raised ToolError"
    assert played.tree() == one_call(
        "tool_failed",
        "look",
        "    authorize_call look -> allow",
        "    check_budget batch -> ok",
        "    execute_tool look -> error ERROR",
    )


@pytest.mark.parametrize(("effect", "outcome"), [("read", Outcome.CANCELLED), ("write", Outcome.UNKNOWN)])
def test_cancelled(effect: str, outcome: Outcome) -> None:
    """Every open span ends with the status ERROR, and the call that ran is answered."""
    spans, started = Spans(), asyncio.Event()

    @tool(effect=effect)  # type: ignore[arg-type]
    async def wait() -> None:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()

    async def cancel() -> None:
        loop = Loop(ScriptedModel([calls(("wait", {}))]), [wait], policy=APPROVED, wiring=counted_wiring(spans))
        task = asyncio.create_task(loop.arun("Go."))
        await started.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(cancel())

    left = partial_result(cancelled.value)
    assert left is not None
    assert left.stop_reason is StopReason.CANCELLED
    assert [line for line in spans.tree() if not line.startswith("    authorize_call")] == [
        "invoke_agent agent -> cancelled ERROR",
        "  check_budget request -> ok",
        "  step -> stopped ERROR",
        "    chat scripted",
        "    validate_call wait -> valid",
        "    check_budget batch -> ok",
        f"    execute_tool wait -> {outcome} ERROR",
        "    append_results",
    ]


def test_harness_error() -> None:
    """A callback that raises ends the run and goes on to the caller; the answer's calls are answered first."""
    spans = Spans()

    def broken(event: Event) -> None:
        if isinstance(event, ModelAnswered):
            raise ZeroDivisionError

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    loop = Loop(ScriptedModel([calls(("look", {}))]), [look], on_event=broken, wiring=counted_wiring(spans))
    with pytest.raises(ZeroDivisionError):
        loop.run("Go.")

    assert spans.tree() == [
        "invoke_agent agent -> harness_error ERROR",
        "  check_budget request -> ok",
        "  step -> stopped ERROR",
        "    chat scripted",
        "    validate_call look -> skipped_stop",
        "    append_results",
    ]
