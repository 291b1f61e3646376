"""A run's task as another process reads it, and which loops an engine can be behind."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Identity, Loop, Policy, ScriptedModel, UsageError, allow_when, tool
from traced_loop.diagnose.conformance import conform
from traced_loop.loop.policy import Proposal
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.testing import CountedIds, Spans, calls, counted_wiring

from .loop.journal_engine import JournalEngine
from .python_program import run_python


@tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


@tool(effect="write")
def pay() -> str:
    """Pay."""
    return "paid"


def loop_of(folder: Path, script: list[Any], **options: Any) -> Loop:
    """A loop whose engine keeps its steps in a folder."""
    engine = JournalEngine(folder / "engine")
    options = {"wiring": counted_wiring(Spans()), "ids": CountedIds(), **options}
    return Loop(ScriptedModel(script), [look], engine=engine, **options)


def test_a_task_is_the_same_in_the_next_process(tmp_path: Path) -> None:
    """The history, on whose behalf, in which session, with which tools, and what may be shown of it."""
    seen: list[Any] = []

    def note(proposal: Proposal) -> None:
        seen.append((proposal.identity, proposal.tool))

    def broken(_request: Any) -> Any:
        raise ZeroDivisionError

    policy = Policy(rules=[note, allow_when(effect="read")])
    identity = Identity(id="u-1", roles=frozenset({"b", "a"}))
    first = loop_of(tmp_path, [broken], instructions="Be brief.", policy=policy)
    with pytest.raises(ZeroDivisionError):
        first.run("Go \ud800.", identity=identity, session_id="s-1", content="span", allow_tools=["look"])
    spans = Spans()
    second = loop_of(tmp_path, [calls(("look", {})), "done"], policy=policy, wiring=counted_wiring(spans))
    result = second.take_over("run-1")

    assert [m["content"] for m in result.messages[:2]] == ["Be brief.", "Go \ufffd."]
    assert (result.run_id, seen) == ("run-1", [(identity, "look")])
    (root,) = spans.named("invoke_agent")
    assert root.attributes["gen_ai.conversation.id"] == "s-1"
    assert "gen_ai.input.messages" in spans.named("invoke_agent")[0].attributes


def test_a_run_that_the_engine_does_not_run_is_told(tmp_path: Path) -> None:
    """One that is over elsewhere has no result here."""

    class Elsewhere(JournalEngine):
        async def start(self, run_id: str, task: str, body: Any) -> None:
            """It goes on in another process."""

    engine = Elsewhere(tmp_path / "engine")
    loop = Loop(ScriptedModel([]), engine=engine, ids=CountedIds(), wiring=counted_wiring(Spans()))
    with pytest.raises(UsageError, match="did not run run-1"):
        loop.run("Go.")


@pytest.mark.parametrize("aware", [False, True], ids=["take_over", "atake_over"])
def test_without_an_engine_that_keeps_steps_nothing_is_taken_over(aware: bool) -> None:
    """The message says what is missing."""
    loop = Loop(ScriptedModel([]), wiring=counted_wiring(Spans()))
    act = (lambda: asyncio.run(loop.atake_over("run-1"))) if aware else (lambda: loop.take_over("run-1"))
    with pytest.raises(UsageError, match="engine="):
        act()


@pytest.mark.parametrize(
    ("options", "said"),
    [({"on_tool_error": "compensate"}, "undo twice"), ({"ledger": "memory"}, "gone with its process")],
    ids=["compensate", "memory"],
)
def test_a_loop_that_could_do_something_twice_is_refused_such_an_engine(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    """At once; with the embedded engine it may."""
    with pytest.raises(UsageError, match=said):
        Loop(ScriptedModel([]), [pay], engine=JournalEngine(tmp_path), **options)
    Loop(ScriptedModel([]), [pay], **options)


CRASHED = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from journal_engine import JournalEngine
from traced_loop import Loop, Policy, ScriptedModel, allow_when, tool
from traced_loop.testing import calls

HOME = Path(os.environ["TRACED_LOOP_HOME"])
DIES = {dies}

def passes(where, name):
    if DIES and (where, name) == ("kept", "tool.1.1.add"):
        os._exit(9)

@tool(effect="read")
def look() -> str:
    "Look."
    return "seen"

@tool(effect="write")
def add() -> str:
    "Add."
    return "added"

engine = JournalEngine(HOME.parent / "engine", passes)
script = [calls(("look", {{}}), ("add", {{}})), "done"] if DIES else ["done"]
loop = Loop(ScriptedModel(script), [look, add], policy=Policy(rules=[allow_when("add")]), engine=engine)
if DIES:
    loop.run("Go.")
[task] = (HOME.parent / "engine").glob("*.task")
print(loop.take_over(task.stem).run_id)
"""


def test_a_run_that_is_taken_over_in_the_store_of_the_dead_process_has_a_whole_trace(tmp_path: Path) -> None:
    """The spans that the dead process had begun are ended, and what follows keeps every promise."""
    store, tests = tmp_path / "s", str(Path(__file__).parent / "loop")
    died = run_python(CRASHED.format(tests=tests, dies=True), store)
    assert (died.code, died.out) == (9, "")
    ended = run_python(CRASHED.format(tests=tests, dies=False), store)
    assert (ended.code, ended.err) == (0, "")

    with LocalStore.open(store) as reader:
        trace = reader.trace(ended.out.strip())
    stops = [span.text("traced_loop.run.stop_reason") for span in trace.spans if span.is_run]
    assert stops == ["unknown_after_crash", "final_answer"]
    assert [problem.kind for problem in trace.problems] == []
    assert [broken.text for broken in conform(our_run(trace)).violations] == []
