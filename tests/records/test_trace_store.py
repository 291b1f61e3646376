"""Spans are in the store as soon as they begin and end, whatever becomes of the process or of the disk."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from traced_loop import Loop, ScriptedModel, StopReason, tool
from traced_loop.models.scripted import calls
from traced_loop.records.process_identity import is_alive, may_run
from traced_loop.records.store import Store
from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX, holder_of, take_over

from ..python_program import ONE_CALL, run_python, running_python

if TYPE_CHECKING:
    from pathlib import Path


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def one_call(store: Path, **options: Any) -> Any:
    """A run of fourteen spans."""
    return Loop(ScriptedModel([calls(("add", {"a": 1, "b": 2})), "3"]), [add], store=store, **options).run("1 + 2?")


def lines(store: Path, suffix: str) -> list[dict[str, Any]]:
    """Every span in the files of that kind; a line that is not whole fails."""
    spans: list[dict[str, Any]] = []
    for path in sorted((store / "spans").glob(f"*{suffix}")):
        text = path.read_bytes().decode()
        assert text.endswith("\n")
        spans += [s for line in text.splitlines() for s in _spans(json.loads(line))]
    return spans


def _spans(request: dict[str, Any]) -> list[dict[str, Any]]:
    return request["resourceSpans"][0]["scopeSpans"][0]["spans"]


def row(store: Path) -> dict[str, Any]:
    """The only row of the index of runs."""
    names = "run_id, stop_reason, ended_ns, steps, tool_calls, agent, model, process"
    [found] = Store.open(store).read(f"SELECT {names} FROM runs")
    return dict(zip(names.split(", "), found, strict=True))


def test_every_span_of_a_run_is_a_line_and_the_index_knows_the_run(tmp_path: Path) -> None:
    """The file of open spans is gone when the run has ended."""
    result = one_call(tmp_path / "s")
    spans = lines(tmp_path / "s", ENDED_SUFFIX)
    assert len(spans) == result.receipt.spans_recorded == result.receipt.spans_started
    assert {span["traceId"] for span in spans} == {result.trace_id}
    assert list((tmp_path / "s" / "spans").iterdir()) == [tmp_path / "s" / "spans" / f"{result.run_id}{ENDED_SUFFIX}"]
    found = row(tmp_path / "s")
    assert (found["run_id"], found["stop_reason"], found["steps"]) == (result.run_id, "final_answer", 2)
    assert (found["tool_calls"], found["agent"], found["model"]) == (1, "agent", "scripted")


def test_a_killed_process_leaves_what_ended_and_what_was_open(tmp_path: Path) -> None:
    """``kill -9`` inside of a tool: whole lines, and the starts of the run, the step and the tool."""
    code = """
        import time
        from traced_loop import Loop, ScriptedModel, tool
        from traced_loop.models.scripted import calls

        @tool(effect="read")
        def hang() -> str:
            "Never come back."
            print("inside", flush=True)
            time.sleep(60)

        Loop(ScriptedModel([calls(("hang", {})), "done"]), [hang]).run("go")
    """
    with running_python(code, tmp_path / "s") as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "inside\n"
        program.send_signal(signal.SIGKILL)
        program.wait(60)
    ended = {span["name"]: span for span in lines(tmp_path / "s", ENDED_SUFFIX)}
    begun = {span["name"]: span for span in lines(tmp_path / "s", OPEN_SUFFIX)}
    assert set(ended) == {
        "chat scripted",
        "traced_loop.check_budget",
        "traced_loop.validate_call",
        "traced_loop.authorize_call",
    }
    assert set(begun) - set(ended) == {"invoke_agent agent", "traced_loop.step", "execute_tool hang"}
    assert {span["endTimeUnixNano"] for span in begun.values()} == {"0"}
    found = row(tmp_path / "s")
    assert (found["ended_ns"], found["stop_reason"], is_alive(found["process"])) == (None, None, False)


def test_a_store_that_is_deleted_meanwhile_costs_records_and_nothing_else(tmp_path: Path) -> None:
    """The run ends as it would have, and its receipt counts what was lost."""
    import shutil

    @tool(effect="read")
    def delete() -> str:
        """Delete the store."""
        shutil.rmtree(tmp_path / "s")
        return "gone"

    result = Loop(ScriptedModel([calls(("delete", {})), "done"]), [delete], store=tmp_path / "s").run("go")
    assert (result.stop_reason, result.answer) == (StopReason.FINAL_ANSWER, "done")
    assert result.receipt.store_errors > 0
    assert result.receipt.spans_recorded < result.receipt.spans_ended == result.receipt.spans_started


def test_a_run_has_its_end_where_its_file_takes_no_more(tmp_path: Path) -> None:
    """The index is another file: a run that ended is none that died."""
    import shutil

    @tool(effect="read")
    def delete() -> str:
        """Delete the spans alone."""
        shutil.rmtree(tmp_path / "s" / "spans")
        return "gone"

    result = Loop(ScriptedModel([calls(("delete", {})), "done"]), [delete], store=tmp_path / "s").run("go")

    found = row(tmp_path / "s")
    assert (found["stop_reason"], found["steps"], found["ended_ns"] is None) == ("final_answer", 2, False)
    assert result.receipt.store_errors > 0


def test_a_store_that_was_deleted_is_made_again_by_the_next_loop(tmp_path: Path) -> None:
    """A new loop finds no dead store."""
    import shutil

    one_call(tmp_path / "s")
    shutil.rmtree(tmp_path / "s")
    assert one_call(tmp_path / "s").receipt.store_errors == 0
    assert row(tmp_path / "s")["stop_reason"] == "final_answer"


def test_a_full_disk_costs_records_and_nothing_else(tmp_path: Path) -> None:
    """Every line that is there is whole; the receipt counts the others."""
    code = (
        ONE_CALL
        + """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
one_call()
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, resource.RLIM_INFINITY))
result = one_call()
print(result.stop_reason, result.answer, result.receipt.store_errors > 0)
"""
    )
    ended = run_python(code, tmp_path / "s")
    assert (ended.code, ended.out, ended.err) == (0, "final_answer 3 True\n", "")
    assert len(lines(tmp_path / "s", ENDED_SUFFIX)) > 14


def test_a_forked_child_records_its_own_runs(tmp_path: Path) -> None:
    """Parent and child use one loop and one store."""
    code = (
        ONE_CALL
        + """
import os
first = one_call()
pid = os.fork()
result = one_call()
print(result.answer, result.receipt.store_errors, result.receipt.spans_recorded, flush=True)
if pid:
    print(os.waitpid(pid, 0)[1])
"""
    )
    ended = run_python(code, tmp_path / "s")
    assert (ended.code, sorted(ended.out.split("\n"))) == (0, ["", "0", "3 0 14", "3 0 14"])
    assert len(lines(tmp_path / "s", ENDED_SUFFIX)) == 3 * 14


def test_runs_in_many_threads_do_not_mix(tmp_path: Path) -> None:
    """Each run has its file and its row."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: one_call(tmp_path / "s"), range(16)))
    assert {r.receipt.store_errors for r in results} == {0}
    for result in results:
        path = tmp_path / "s" / "spans" / f"{result.run_id}{ENDED_SUFFIX}"
        traces = {s["traceId"] for line in path.read_text().splitlines() for s in _spans(json.loads(line))}
        assert traces == {result.trace_id}
    [(count,)] = Store.open(tmp_path / "s").read("SELECT count(*) FROM runs WHERE stop_reason = 'final_answer'")
    assert count == 16


def test_a_run_is_taken_over_once_from_whom_it_was_seen_with(tmp_path: Path) -> None:
    """It then counts as running; whoever saw it as it was before comes too late."""
    result = one_call(tmp_path / "s")
    store = Store.open(tmp_path / "s")
    held = holder_of(store, result.run_id)
    assert held is not None
    assert held.ended_ns is not None
    assert take_over(store, result.run_id, held)
    assert not take_over(store, result.run_id, held)
    now = holder_of(store, result.run_id)
    assert now is not None
    assert (now.ended_ns, may_run(now.process)) == (None, True)
    assert holder_of(store, "nothing") is None
