"""Tools in a process of their own."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Loop, Policy, ScriptedModel, StopReason, UsageError, partial_result, tool
from traced_loop.outcomes import Outcome
from traced_loop.records.process_identity import process_identity
from traced_loop.testing import Played, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

from ..hangs import WITHIN, no_hang
from . import isolated_tools as tools

APPROVED = Policy(confirm=lambda _: True)


def played(handler: Tool, arguments: dict[str, Any]) -> Played:
    """A run with one call of the tool; another answer ends it where it goes on."""
    name = handler.__traced_loop_tool__.name  # type: ignore[union-attr]
    spans, model = Spans(), ScriptedModel([calls((name, arguments)), "done"])
    result = Loop(model, [handler], policy=APPROVED, wiring=counted_wiring(spans)).run("Go.")
    return Played(result=result, spans=spans, model=model)


def told(run: Played) -> dict[str, Any]:
    """What the model was told."""
    said: dict[str, Any] = json.loads(run.result.messages[2]["content"])
    return said


def gone(pid: int) -> bool:
    """Whether a process has ended, within a moment."""
    ends = time.monotonic() + WITHIN
    while process_identity(pid) is not None and time.monotonic() < ends:
        os.sched_yield()
    return process_identity(pid) is None


def test_it_runs_over_there_in_the_trace_of_its_call(capfd: pytest.CaptureFixture[str]) -> None:
    """Arguments keep their types, the parent of its spans is the call's span, and what it prints goes nowhere."""
    run = played(tools.where, {"a": 41, "size": "small"})

    (span,) = run.spans.named("execute_tool")
    seen = told(run)["result"]
    assert (seen["sum"], seen["size"], seen["run"]) == (42, "SMALL", run.result.run_id)
    assert seen["pid"] != os.getpid()
    assert (seen["trace"], seen["span"]) == (run.result.trace_id, f"{span.span_id:016x}")
    assert seen["variable"].startswith(f"00-{seen['trace']}-{seen['span']}-")
    assert gone(seen["pid"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("handler", "arguments", "result"), [(tools.later, {"a": 1}, 2), (tools.lines, {}, [1, 2])])
def test_async_tools_and_generators_work_there_too(handler: Tool, arguments: dict[str, Any], result: Any) -> None:
    """What they give is read over there."""
    assert told(played(handler, arguments)) == {"status": "completed", "result": result}


@pytest.mark.parametrize(
    ("kind", "error_type", "message", "error_class"),
    [
        ("value", "ValueError", "ValueError: no", "deterministic"),
        ("busy", "tool_error", "ask later", "transient"),
        ("demanding", "RuntimeError", "Demanding: a", "deterministic"),
        ("exit", "traced_loop.errors.ProcessDied", "exit code 3", "deterministic"),
    ],
)
def test_what_it_raises_is_raised_here(kind: str, error_type: str, message: str, error_class: str) -> None:
    """With its type, where that goes from one process to another; an exit ends its own process only."""
    run = played(tools.fail, {"kind": kind})

    (span,) = run.spans.named("execute_tool")
    assert message in told(run)["message"]
    assert span.attributes["error.type"] == error_type
    assert span.attributes["traced_loop.error.class"] == error_class
    assert run.result.answer == "done"


def test_a_crash_of_a_read_is_an_error_and_of_a_write_unknown() -> None:
    """This process lives on."""
    read, write = played(tools.read_crash, {}), played(tools.write_crash, {})

    assert (told(read)["type"], read.result.answer) == ("error", "done")
    assert "SIGSEGV" in told(read)["message"]
    assert (told(write)["type"], write.result.stop_reason) == ("unknown", StopReason.OUTCOME_UNKNOWN)
    assert "exit code 7" in told(write)["message"]


def test_a_write_can_say_that_nothing_happened() -> None:
    """And it gets its key."""
    run = played(tools.refuse, {})

    assert (told(run)["type"], told(run)["message"]) == ("error", "key-1")


def test_a_tool_that_holds_the_interpreter_lock_is_killed_with_its_children(tmp_path: Path) -> None:
    """The run answers, nothing is left behind, and nothing of it runs on."""
    with no_hang():
        run = played(tools.hold, {"path": str(tmp_path / "pids")})

    worker, child = map(int, (tmp_path / "pids").read_text().split())
    assert (run.result.stop_reason, run.result.abandoned) == (StopReason.TOOL_TIMEOUT, ())
    assert run.spans.outcomes() == {"call_1": [Outcome.TIMED_OUT]}
    assert gone(worker)
    assert gone(child)


def test_a_cancelled_run_kills_it(tmp_path: Path) -> None:
    """At once."""
    path, spans = tmp_path / "pids", Spans()

    async def cancel() -> Any:
        script = [calls(("hold", {"path": str(path)}))]
        task = asyncio.create_task(Loop(ScriptedModel(script), [tools.hold], wiring=counted_wiring(spans)).arun("Go."))
        while not path.exists():
            await asyncio.wait([task], timeout=0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return partial_result(cancelled.value)

    result = asyncio.run(cancel())

    assert (result.stop_reason, result.abandoned, spans.open) == (StopReason.CANCELLED, (), [])
    assert all(gone(int(pid)) for pid in path.read_text().split())


def test_it_may_clean_up_after_its_result(tmp_path: Path) -> None:
    """What it registered for its exit runs: an exporter of its own may still send spans."""
    run = played(tools.late_exit, {"path": str(tmp_path / "left")})

    assert (told(run)["result"], (tmp_path / "left").exists()) == ("done", True)


def made_here() -> Callable[[], None]:
    """A function that nobody else can find."""

    def inner() -> None:
        """Do nothing."""

    return inner


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        pytest.param(made_here(), {"isolate": "process"}, "move it there", id="inside_of_a_function"),
        pytest.param(lambda: None, {"isolate": "process", "name": "a"}, "a lambda", id="lambda"),
        pytest.param(made_here, {"isolate": "thread"}, 'write "process"', id="another_word"),
    ],
)
def test_what_another_process_cannot_find_is_refused_at_once(function: Any, options: Any, said: str) -> None:
    """At the decoration, with what to do."""
    with pytest.raises(UsageError, match=said):
        tool(effect="read", **options)(function)


def test_a_name_that_leads_to_something_else_is_refused_by_the_loop() -> None:
    """At its construction, before anything runs."""
    decorated: Any = tool(effect="read", isolate="process", name="b")(renamed)
    globals()["renamed"] = None

    with pytest.raises(UsageError, match="something else"):
        Loop(ScriptedModel([]), [decorated])


def renamed() -> None:
    """Be another later."""


def test_one_tool_of_a_batch_may_be_isolated_and_others_not() -> None:
    """They run together."""

    @tool(effect="read")
    def near() -> int:
        """Tell the process."""
        return os.getpid()

    run = play([calls(("near", {}), ("later", {"a": 1})), "done"], [near, tools.later])

    assert [json.loads(m["content"])["result"] for m in run.result.messages[2:4]] == [os.getpid(), 2]
