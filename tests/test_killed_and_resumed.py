"""A run that is killed at any moment of its records, recovered and resumed: it ends as if nothing had happened.

SIGKILL comes before or after a statement of the store, a write of a span, or an effect, at points spread over a run
with reads, writes, parallel calls, a pause for a person and the process that goes on after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .killed_process import PARTS, told_by

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from traced_loop import Loop, Policy, ScriptedModel, UsageError, allow_when
from traced_loop.call_ledger import Resolution
from traced_loop.diagnose.conformance import conform
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.records.open_writes import open_writes, resolve_write
from traced_loop.records.store import Store
from traced_loop.rules.pairing import pairing_problems
from traced_loop.told import told_result

@tool(effect="write")
def charge(name: str) -> str:
    "Charge."
    return effect(f"charge {name}")

LOOKS = [("look", "a"), ("look_later", "b")]
ANSWERS = [
    [*LOOKS, ("put", "A"), ("add", "B"), *LOOKS],
    [("put", "C"), ("charge", "D"), ("look", "c"), ("add", "E")],
    [("charge", "F"), ("nothing", "g")],
]
WRITES = [f"{name} {of}" for answer in ANSWERS for name, of in answer if name in {"put", "add", "charge"}]

def answer(request):
    "The next answer of a history: the same, however often it is asked for."
    number = sum(message["role"] == "assistant" for message in request.messages)
    if number == len(ANSWERS):
        message, reason = {"role": "assistant", "content": "done"}, "stop"
    else:
        calls = [
            {"id": f"call_{number}_{n}", "type": "function",
              "function": {"name": name, "arguments": json.dumps({"name": of})}}
            for n, (name, of) in enumerate(ANSWERS[number])
        ]
        message, reason = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": reason}],
             "usage": usage}

def loop(home):
    policy = Policy(rules=[allow_when(["put", "add"])])
    return Loop(ScriptedModel([answer] * 9), [look, look_later, put, add, charge], policy=policy, store=home)

def told(result):
    return {
        "run": result.run_id, "stop": result.stop_reason, "pending": [each.call.id for each in result.pending],
        "messages": list(result.messages), "tokens": result.usage.tokens, "steps": result.usage.steps,
        "calls": result.usage.tool_calls,
    }

def begin(home):
    return told(loop(home).run("Go."))

def resume(home, run_id, confirm):
    try:
        return told(loop(home).resume(run_id, confirm=confirm, by="ann"))
    except UsageError as error:
        return {"error": str(error)}

def resolve_all(home, run_id):
    "A person looks at what was done, and says so."
    said = []
    for row in open_writes(home, run_id):
        if row.state == "unknown" or row.state == "running":
            name = f"{row.name[0]} {json.loads(row.arguments)['name']}"
            done = name in effects()
            content = told_result(json.dumps(name)) if done else None
            resolve_write(home, row, Resolution(state="succeeded" if done else "free", by="ann", content=content))
            said.append(name)
    return said

def run_of(home):
    rows = Store.open(home).read("SELECT run_id FROM runs")
    return rows[0][0] if rows else None

def to_its_end(home, run_id):
    "Resume it, process by process, as a person would."
    steps, resolved, last = [], [], None
    for _ in range(9):
        waits = [last["pending"]] if last and last["pending"] else [["call_1_1"], ["call_2_0"], []]
        for confirm in waits:
            _, (last, _) = in_child(lambda: resume(home, run_id, confirm))
            if "error" not in last:
                break
        steps.append(last.get("stop") or last.get("error"))
        if last.get("stop") == "outcome_unknown":
            _, (names, _) = in_child(lambda: resolve_all(home, run_id))
            resolved += names
        elif last.get("stop") != "confirmation_required":
            break
    return steps, resolved, last

def checked(home, run_id):
    with LocalStore.open(home) as reader:
        run = reader.run(run_id)
    broken = [f"{each.rule}: {each.text}" for each in conform(our_run(run.trace)).violations]
    return {"broken": broken, "problems": [p.text for p in run.problems], "state": run.entry.state}

whole = f"{HOME}/whole"
_, (first, t1) = in_child(lambda: begin(whole), 10**9)
assert first["stop"] == "confirmation_required", first
_, (second, t2) = in_child(lambda: resume(whole, first["run"], ["call_1_1"]), 10**9)
assert second.get("stop") == "confirmation_required", second
_, (third, t3) = in_child(lambda: resume(whole, first["run"], ["call_2_0"]), 10**9)
assert third["stop"] == "final_answer" and sorted(effects()) == sorted(WRITES), (third, effects())
_, (after, _) = in_child(lambda: checked(whole, first["run"]))
assert not after["broken"] and not after["problems"], after
total = t1 + t2 + t3
print(json.dumps({"ticks": [t1, t2, t3]}), flush=True)
for at in points(total):
    os.unlink("effects") if os.path.exists("effects") else None
    home = f"{HOME}/{at}"
    code, (given, _) = in_child(lambda: begin(home), at if at <= t1 else None)
    if at > t1:
        in_second = at <= t1 + t2
        code, (given, _) = in_child(lambda: resume(home, given["run"], ["call_1_1"]), at - t1 if in_second else None)
        if not in_second:
            code, (given, _) = in_child(lambda: resume(home, given["run"], ["call_2_0"]), at - t1 - t2)
    _, (run_id, _) = in_child(lambda: run_of(home))
    found = {"at": at, "code": code, "run": run_id, "before": effects()}
    if run_id is not None:
        steps, resolved, last = to_its_end(home, run_id)
        _, (again, _) = in_child(lambda: resume(home, run_id, []))
        _, (after, _) = in_child(lambda: checked(home, run_id))
        found |= {
            "steps": steps, "resolved": resolved, "stop": last.get("stop"), "effects": effects(), **after,
            "same": last.get("messages") == third["messages"], "messages": last.get("messages"),
            "again": again.get("messages") == last.get("messages"), "pairing": pairing_problems(last.get("messages")),
            "spent": [last.get("tokens"), last.get("steps"), last.get("calls")], "writes": sorted(WRITES),
        }
    print(json.dumps(found), flush=True)
"""


def assert_as_if_nothing_had_happened(found: dict[str, Any]) -> None:
    """The same history, each write once, a trace that keeps every promise, and nothing left to do."""
    if found["run"] is None:  # it was killed before it had begun
        assert found["before"] == [], found
        return
    assert found["stop"] == "final_answer", found
    assert sorted(found["effects"]) == found["writes"], found
    assert (found["broken"], found["problems"], found["pairing"]) == ([], [], []), found
    assert found["same"], found
    assert found["again"], found


@pytest.mark.parametrize("part", range(PARTS))
def test_wherever_it_is_killed_it_ends_as_if_nothing_had_happened(tmp_path: Path, part: int) -> None:
    """Once a person has said what came of a write that was running, which is one at most."""
    whole, *lines = told_by(PROGRAM, part, tmp_path)
    assert len(lines) == 10, whole
    assert {line["code"] for line in lines} == {9}
    for line in lines:
        assert_as_if_nothing_had_happened(line)
