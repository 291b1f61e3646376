"""Which calls of a run's last answer are taken up when it goes on: never those of an answer that was not whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.diagnose.conformance import conform
from traced_loop.earlier_run import earlier_run
from traced_loop.open_step import open_step
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.records.store import Store
from traced_loop.testing import calls

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.loop.continued_run import OpenStep
    from traced_loop.run_result import RunResult

ran: list[str] = []


@tool(effect="read")
def look(name: str) -> str:
    """Look."""
    ran.append(name)
    return name


def cut_answer(reason: str) -> dict[str, Any]:
    """An answer with a call that is whole by itself."""
    function = {"name": "look", "arguments": '{"name": "a"}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    return {"model": "scripted", "choices": [{"index": 0, "finish_reason": reason, "message": message}]}


def without_results(result: RunResult) -> None:
    """Leave the store as a process does that dies before the results are written."""
    first = 1 + max(n for n, message in enumerate(result.messages) if message["role"] == "assistant")
    Store.open().write("DELETE FROM messages WHERE run_id = ? AND seq >= ?", [(result.run_id, first)])


def step_of(result: RunResult) -> OpenStep | None:
    """What is taken up of its last step."""
    earlier = earlier_run(Store.open(), result.run_id)
    return open_step(earlier, earlier.usage().steps, ())


def test_calls_of_a_cut_answer_are_answered_and_not_made(home: Path) -> None:
    """Also where the process died before it had said so: nothing runs, and the history is whole."""
    ran.clear()
    result = Loop(ScriptedModel([cut_answer("length")]), [look]).run("Go.")
    assert result.stop_reason == "truncated_response"
    without_results(result)
    step = step_of(result)
    assert step is not None
    assert step.is_suspect

    again = Loop(ScriptedModel(["done"]), [look]).resume(result.run_id)

    assert (again.answer, ran) == ("done", [])
    [told] = [json.loads(m["content"]) for m in again.messages if m["role"] == "tool"]
    assert told["type"] == "skipped_stop"
    with LocalStore.open() as reader:
        assert conform(our_run(reader.trace(result.run_id))).violations == ()


def test_calls_of_an_answer_of_which_no_span_is_left_are_not_made(home: Path) -> None:
    """Nothing shows that it was whole."""
    ran.clear()
    result = Loop(ScriptedModel([calls(("look", {"name": "a"})), "done"]), [look]).run("Go.")
    Store.open().write("DELETE FROM messages WHERE run_id = ? AND seq >= ?", [(result.run_id, 2)])
    for path in (home / "spans").iterdir():
        path.unlink()
    step = step_of(result)
    assert step is not None
    assert step.is_suspect


def test_calls_of_a_whole_answer_are_taken_up(home: Path) -> None:
    """All that have no result."""
    result = Loop(ScriptedModel([calls(("look", {"name": "a"}), ("look", {"name": "b"})), "done"]), [look]).run("Go.")
    with LocalStore.open() as reader:
        chats = [s for s in reader.trace(result.run_id).spans if s.operation == names.CHAT]
    assert len(chats) == 2
    Store.open().write("DELETE FROM messages WHERE run_id = ? AND seq >= ?", [(result.run_id, 3)])
    step = step_of(result)
    assert step is not None
    assert (step.first, sorted(step.kept), [call.id for call in step.calls]) == (2, [0], ["call_1", "call_2"])


@pytest.mark.parametrize("reason", ["tool_not_allowed", "tool_timeout"])
def test_what_a_decision_about_the_answer_kept_from_running_stands(home: Path, reason: str) -> None:
    """Only an interruption says nothing of the calls."""
    told = '{"status":"error","type":"skipped_stop","message":"Not run."}'
    result = Loop(ScriptedModel([calls(("look", {"name": "a"})), "done"]), [look]).run("Go.")
    store = Store.open()
    store.write("DELETE FROM messages WHERE run_id = ? AND seq >= ?", [(result.run_id, 3)])
    body = json.dumps({"role": "tool", "tool_call_id": "call_1", "content": told})
    store.write("UPDATE messages SET body = ? WHERE run_id = ? AND seq = 2", [(body, result.run_id)])
    [path] = (home / "spans").glob("*.otlp.jsonl")
    text = path.read_text()
    assert step_of(result) is None
    path.write_text(text.replace('"final_answer"', f'"{reason}"'))
    assert step_of(result) is None
    path.write_text(text.replace('"final_answer"', '"cancelled"'))
    assert step_of(result) is not None
