"""The signal that a tool's time is over."""

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from traced_loop import Cancellation, Loop, NotApplied, Policy, ScriptedModel, StopReason, tool
from traced_loop.testing import calls, play

APPROVED = Policy(confirm=lambda _: True)


def test_it_is_set_once_and_tells_everybody_who_asked() -> None:
    """Whoever comes too late is told at once; what one of them raises is nobody's business."""
    signal, told = Cancellation(), list[str]()
    signal.when_set(lambda: 1 // 0)
    signal.when_set(lambda: told.append("before"))
    assert (signal.is_set, signal.wait(0)) == (False, False)

    signal.set()
    signal.set()
    signal.when_set(lambda: told.append("after"))

    assert (signal.is_set, signal.wait(), told) == (True, True, ["before", "after"])


def test_the_model_does_not_see_it_and_the_function_stays_callable() -> None:
    """It is known by its type, whatever its name, also where it may be left out."""

    @tool(effect="read")
    def look(name: str, stop: Cancellation | None = None) -> str:
        """Look."""
        return f"{name} {type(stop).__name__}"

    played = play([calls(("look", {"name": "a"})), "done"], [look])

    assert look("b") == "b NoneType"
    assert played.result.messages[2]["content"] == '{"status":"completed","result":"a Cancellation"}'
    assert list(played.model.requests[0].tools[0]["function"]["parameters"]["properties"]) == ["name"]


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_a_tool_that_heeds_it_is_not_left_behind(sync: bool) -> None:
    """It has ended by the time the run goes on."""
    heard = threading.Event()

    def hang(cancellation: Cancellation) -> None:
        """Hang."""
        cancellation.wait()
        heard.set()
        raise RuntimeError("told to end")

    async def hang_later(cancellation: Cancellation) -> None:
        """Hang."""
        cancellation.when_set(heard.set)
        await asyncio.Event().wait()

    handler: Any = tool(effect="read", timeout=0.05, name="hang")(hang if sync else hang_later)
    played = play([calls(("hang", {}))], [handler])

    assert (played.result.stop_reason, played.result.abandoned) == (StopReason.TOOL_TIMEOUT, ())
    assert heard.is_set()
    assert played.spans.named("traced_loop.late_completion") == []


def test_a_write_that_is_told_to_end_may_say_that_nothing_happened() -> None:
    """Then nothing is unknown, and the run goes on."""

    @tool(effect="write", timeout=0.05)
    def pay(cancellation: Cancellation) -> None:
        """Pay."""
        cancellation.wait()
        raise NotApplied("rolled back")

    played = play([calls(("pay", {})), "done"], [pay], policy=APPROVED)

    assert (played.result.answer, played.spans.outcomes()) == ("done", {"call_1": ["error"]})
    assert "rolled back" in played.result.messages[2]["content"]


def test_what_a_tool_gives_when_it_is_told_to_end_is_not_thrown_away() -> None:
    """A part of an answer is an answer."""

    @tool(effect="read", timeout=0.05)
    def search(cancellation: Cancellation) -> str:
        """Search."""
        cancellation.wait()
        return "a part"

    assert "a part" in play([calls(("search", {})), "done"], [search]).result.messages[2]["content"]


def test_a_process_that_a_tool_waits_for_is_ended_with_its_children() -> None:
    """``ends`` kills the whole group, so that the tool ends as well."""
    pipes: list[Any] = []
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"

    @tool(effect="read", timeout=0.5)
    def run(cancellation: Cancellation) -> int:
        """Run."""
        command = [sys.executable, "-c", child]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            cancellation.ends(process)
            assert process.stdout is not None
            pipes.append(process.stdout.read())  # ends when everybody who could write to it is gone
            return process.wait()

    result = Loop(ScriptedModel([calls(("run", {})), "done"]), [run], store=None).run("Go.")

    assert (result.abandoned, pipes) == ((), [b""])
    assert result.messages[2]["content"] == '{"status":"completed","result":-9}'
