"""Steps of a run under an engine that keeps them: wherever its process dies, another one comes to the same end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import (
    Budget,
    Loop,
    Policy,
    RunResult,
    ScriptedModel,
    StopReason,
    UsageError,
    deny_when,
    partial_result,
    tool,
)
from traced_loop.loop.memory_ledger import MemoryLedger
from traced_loop.testing import CountedClock, CountedIds, Spans, calls, counted_wiring

from ..nightly import examples
from ..python_program import run_python
from .engine_contract import EngineContract
from .journal_engine import JournalEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from traced_loop.engine import Engine


class TestJournalContract(EngineContract):
    """The contract, in a file."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Callable[[], Engine]:
        """Opens the folder."""
        return lambda: JournalEngine(tmp_path / "engine")


PROGRAM = """
import json, os, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {tests!r})
from journal_engine import JournalEngine
from traced_loop import Budget, Loop, Policy, ScriptedModel, allow_when, tool
from traced_loop.messages import ModelAnswer
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store
from traced_loop.testing import CountedIds, Spans, calls, counted_wiring

HOME = Path(os.environ["TRACED_LOOP_HOME"])
HOME.mkdir(mode=0o700)
left, places = None, []

def passes(where, name):
    global left
    places.append(f"{{where}} {{name}}")
    if left is not None:
        left -= 1
        if left < 0:
            os._exit(9)

def log(home, line):
    descriptor = os.open(f"{{home}}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (line + "\\n").encode())
    os.close(descriptor)

def logged(home):
    path = Path(f"{{home}}/log")
    return path.read_text().splitlines() if path.exists() else []

LOOKS = [("look", {{"name": "a"}}), ("look_later", {{"name": "b"}})]
LINES = [
    calls(*LOOKS, ("add", {{"name": "B"}}), ("put", {{"name": "A"}}), ("nothing", {{}})),
    calls(("add", {{"name": "B"}}), ("fail", {{}}), ("look", {{"name": 7}})),
    calls(("put", {{"name": "A"}}), *LOOKS),
    "done",
]

class Model:
    "Answers by what it is asked, as a server does."
    name, provider = "model", "tests"

    def __init__(self, home):
        self.home = home

    async def complete(self, request):
        number = sum(m["role"] == "assistant" for m in request.messages)
        log(self.home, f"request {{number + 1}}")
        passes("inside", f"model.{{number + 1}}")
        script = ScriptedModel([*LINES[:number], LINES[number]])
        script.requests.extend([request] * number)
        return await script.complete(request)

def loop(home, spans):
    @tool(effect="read")
    def look(name: str) -> str:
        "Look."
        return name

    @tool(effect="read")
    async def look_later(name: str) -> str:
        "Look."
        return f"{{name}} at 10 %"

    @tool(effect="read")
    async def fail() -> str:
        "Fail."
        raise OSError("no")

    @tool(effect="write", key=lambda name: f"put:{{name}}")
    def put(name: str) -> str:
        "Put."
        log(home, f"effect put {{name}}")
        passes("inside", "put")
        return f"put {{name}}"

    @tool(effect="write")
    async def add(name: str) -> str:
        "Add."
        log(home, f"effect add {{name}}")
        passes("inside", "add")
        return f"added {{name}}"

    def confirm(pending):
        log(home, "asked")
        return True

    wiring = replace(counted_wiring(spans), ledger=DurableLedger(Store.open(home / "store")))
    return Loop(
        Model(home),
        [look, look_later, fail, put, add],
        policy=Policy(rules=[allow_when("put")], confirm=confirm),
        budget=Budget(steps=4),
        max_parallel=1,
        engine=JournalEngine(home / "engine", passes),
        ids=CountedIds(),
        wiring=wiring,
    )

def told(result, spans, home):
    usage = result.usage
    return {{
        "answer": result.answer, "stop": result.stop_reason, "messages": result.messages, "tree": spans.tree(),
        "sums": [usage.steps, usage.model_requests, usage.tool_calls, usage.failed_tool_calls, usage.tokens],
        "log": logged(home), "places": places,
    }}

def begin(home, at):
    global left
    left = at
    home.mkdir()
    spans = Spans()
    return told(loop(home, spans).run("Go."), spans, home)

def again(home):
    global left
    left = None
    spans = Spans()
    kept = list(JournalEngine(home / "engine").kept("run-1"))
    before = logged(home)
    return {{**told(loop(home, spans).take_over("run-1"), spans, home), "kept": kept, "before": before}}

def in_child(act):
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writes, json.dumps(act()).encode())
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as pipe:
        found = pipe.read()
    return os.waitpid(pid, 0)[1], json.loads(found) if found else None

_, whole = in_child(lambda: begin(HOME / "whole", None))
print(json.dumps(whole), flush=True)
for at in range({part}, len(whole["places"]), {parts}):
    code, _ = in_child(lambda: begin(HOME / str(at), at))
    _, found = in_child(lambda: again(HOME / str(at)))
    ended = {{"place": whole["places"][at], "code": os.waitstatus_to_exitcode(code)}}
    print(json.dumps({{**ended, **(found or {{}})}}), flush=True)
"""


PARTS = 3
"""Of the boundaries; all of them are passed at night, one part of them otherwise."""


def expected_tree(whole: list[str], kept: list[str], place: str) -> list[str]:
    """The spans of a run that nothing disturbed, with a replay in the place of each step that was kept."""
    found: list[str] = []
    step = 0
    for line in whole:
        kind, _, subject = line.strip().partition(" ")
        step += kind == "step"
        tool, _, outcome = subject.removesuffix(" ERROR").partition(" -> ")
        was_kept = any(name.startswith(f"tool.{step}.") and name.endswith(f".{tool}") for name in kept)
        was_done = place.startswith(f"done tool.{step}.") and place.endswith((".add", ".put")) and place.endswith(tool)
        if kind == "chat" and f"model.{step}" in kept:
            found.append("    replay")
        elif kind in {"execute_tool", "replay"} and (was_kept or was_done):
            if f"authorize_call {tool} -> needs_confirmation" in found[-1]:
                found.pop()  # nobody is asked again
            found.append(f"    replay {tool} -> {outcome if was_kept else 'replayed'}")
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("part", range(examples(1, PARTS)))
def test_wherever_its_process_dies_a_run_comes_to_the_same_end(tmp_path: Path, part: int) -> None:
    """At each boundary of each step, and inside of requests and writes: no kept step is done again, no write twice."""
    program = PROGRAM.format(tests=str(Path(__file__).parent), part=part, parts=PARTS)
    ended = run_python(program, tmp_path / "s", within=300)
    assert (ended.code, ended.err) == (0, "")
    whole, *others = map(json.loads, ended.out.splitlines())
    assert (whole["stop"], len(whole["log"])) == ("final_answer", 9)
    assert len(others) == len(range(part, len(whole["places"]), PARTS))
    for found in others:
        assert found["code"] == 9, found
        place, log = found["place"], list(whole["log"])
        if place in {"inside add", "inside put"}:
            assert found["stop"] == "outcome_unknown", found
            assert found["log"] == found["before"], found
            continue
        assert (found["stop"], found["answer"], found["messages"]) == ("final_answer", "done", whole["messages"])
        if place.startswith(("inside model.", "done model.")):
            log.insert(log.index(f"request {place[-1]}"), f"request {place[-1]}")
        assert found["log"] == log, found
        assert found["tree"] == expected_tree(whole["tree"], found["kept"], place), found
        replayed = place.startswith(("done tool.1.", "done tool.2.")) and place.endswith((".add", ".put"))
        sums = [4, 4, whole["sums"][2] - replayed, *whole["sums"][3:]]
        assert found["sums"] == sums, found


class Died(Exception):
    """The process, as far as a test in one process can say so."""


@tool(effect="read")
async def look(name: str) -> str:
    """Look."""
    return f"{name} at 10 %"


@tool(effect="write")
def add(name: str) -> str:
    """Add."""
    return name


class World:
    """A loop under an engine whose process dies at one boundary, and is begun again."""

    def __init__(self, folder: Path, script: list[Any], dies: str) -> None:
        self.folder, self.script, self.clock = folder, script, CountedClock()
        self.dies: str | None = dies

    def loop(self, script: list[Any], spans: Spans, **options: Any) -> Loop:
        """As a process makes it."""

        def passes(where: str, name: str) -> None:
            if f"{where} {name}" == self.dies:
                self.dies = None
                raise Died

        engine, ids = JournalEngine(self.folder / "engine", passes), CountedIds()
        wiring = replace(counted_wiring(spans, clock=self.clock), ledger=MemoryLedger())
        return Loop(ScriptedModel(script), engine=engine, ids=ids, wiring=wiring, **{"tools": [look], **options})

    def dead(self, **options: Any) -> Spans:
        """Begin the run, and die."""
        spans = Spans()
        with pytest.raises(Died):
            self.loop(self.script, spans, **options).run("Go.")
        return spans

    def again(self, script: list[Any], **options: Any) -> tuple[RunResult, Spans]:
        """Go on with what is left of the script."""
        spans = Spans()
        return self.loop(script, spans, **options).take_over("run-1"), spans


def test_a_replay_names_its_step_and_links_to_what_did_it(tmp_path: Path) -> None:
    """The run says how many there were; what it used is in its sums, and nothing of it on a span."""
    world = World(tmp_path, [calls(("look", {"name": "a"})), "done"], "kept tool.1.0.look")
    before = world.dead()
    result, spans = world.again(["done"])

    model, call = spans.named("traced_loop.replay")
    chat, execution = before.named("chat")[0], before.named("execute_tool")[0]
    assert (model.attributes["traced_loop.replay.step"], call.attributes["traced_loop.replay.step"]) == (
        "model.1",
        "tool.1.0.look",
    )
    links = [(chat.trace_id, chat.span_id)], [(execution.trace_id, execution.span_id)]
    assert (list(model.links), list(call.links)) == links
    assert [key for key in (*model.attributes, *call.attributes) if key.startswith("gen_ai.")] == []
    same = ("traced_loop.result.fingerprint", "traced_loop.args.fingerprint", "traced_loop.execution.id")
    assert {key: call.attributes[key] for key in same} == {key: execution.attributes[key] for key in same}
    (root,) = spans.named("invoke_agent")
    assert root.attributes["traced_loop.run.replayed"] == 2
    assert (result.answer, result.usage.model_requests, result.usage.tool_calls) == ("done", 2, 1)
    assert result.usage.tokens > (chat.attributes["gen_ai.usage.input_tokens"] or 0)


def test_a_run_that_is_run_again_does_not_get_its_time_anew(tmp_path: Path) -> None:
    """What the process before it has used counts, as far as it was kept; the time between the two does not."""

    @tool(effect="read", name="look")
    async def slow(name: str) -> str:
        """Look."""
        world.clock.advance(50)
        return name

    world = World(tmp_path, [calls(("look", {"name": "a"})), "done"], "kept tool.1.0.look")
    world.dead(tools=[slow])
    world.clock.advance(1_000)
    result, _ = world.again([lambda _: world.clock.advance(20) or "done"], tools=[slow], budget=Budget(seconds=60))
    assert 70 <= result.usage.seconds < 71
    assert result.usage.tool_seconds >= 50


def test_what_answers_something_else_ends_the_run(tmp_path: Path) -> None:
    """A rule that has changed its mind would let a kept answer stand on results that nobody gave."""
    world = World(tmp_path, [calls(("look", {"name": "a"})), "done"], "kept model.2")
    world.dead()
    with pytest.raises(UsageError, match=r"model\.2 of run run-1 answers something else") as raised:
        world.again([], policy=Policy(rules=[deny_when("look")], on_deny="report"))
    left = partial_result(raised.value)
    assert left is not None
    assert left.stop_reason is StopReason.HARNESS_ERROR


def test_a_run_that_is_cancelled_while_nobody_runs_it_stops_at_its_next_step(tmp_path: Path) -> None:
    """Nothing is asked and nothing is run any more."""
    world = World(tmp_path, [calls(("look", {"name": "a"})), "done"], "kept model.1")
    world.dead()
    assert world.loop([], Spans()).cancel("run-1")
    result, spans = world.again([])
    assert (result.stop_reason, result.stop_detail) == (StopReason.CANCELLED, "Loop.cancel ended it")
    assert spans.named("traced_loop.replay") == []


def test_the_stops_of_a_kept_call_stand(tmp_path: Path) -> None:
    """A person who was not there is not asked again, and the run stops for the same."""
    world = World(tmp_path, [calls(("add", {"name": "a"}))], "kept tool.1.0.add")
    world.dead(tools=[add])
    result, spans = world.again([], tools=[add])
    assert result.stop_reason is StopReason.CONFIRMATION_REQUIRED
    assert [pending.tool for pending in result.pending] == ["add"]
    assert spans.open == []
