"""A process that is killed at any moment of its records: no write happens twice, and what was running is unknown.

SIGKILL comes before or after a statement of the store, a write of a span, or an effect, at points spread over a whole
run with reads, writes and parallel calls; then another process opens what is left, and wants the same again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .killed_process import PARTS, told_by

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from traced_loop import Loop, Policy, ScriptedModel, allow_when
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.open_writes import open_writes
from traced_loop.records.store import Store
from traced_loop.records.write_rows import rows_of_run
from traced_loop.testing import calls

LOOKS = [("look", {"name": "a"}), ("look_later", {"name": "b"})]
SCRIPT = [
    calls(*LOOKS, ("put", {"name": "A"}), ("add", {"name": "B"}), *LOOKS),
    calls(("put", {"name": "C"}), *LOOKS, ("add", {"name": "D"})),
    "done",
]
PUTS = [calls(("put", {"name": "A"})), calls(("put", {"name": "C"})), "done"]

def run(script, home):
    policy = Policy(rules=[allow_when(effect="write")])
    return Loop(ScriptedModel(script), [look, look_later, put, add], policy=policy, store=home).run("Go.")

def found(home):
    before = effects()
    rows = rows_of_run(IndexReader(Store.open(home).file), run_id) if (run_id := only_run(home)) else []
    states = {f"{row.name[0]} {json.loads(row.arguments)['name']}": row.state for row in rows}
    seen = {row.state for row in open_writes(home)}
    torn = sum(not whole(line) for line in lines(home)[:-1])
    again = run(PUTS, home)
    told = [m["content"] for m in again.messages if m["role"] == "tool"]
    return {
        "before": before, "after": effects(), "states": states, "open": sorted(seen), "torn": torn,
        "stop": again.stop_reason, "told": told,
    }

def only_run(home):
    rows = Store.open(home).read("SELECT run_id FROM messages LIMIT 1")
    return rows[0][0] if rows else None

def lines(home):
    folder = f"{home}/spans"
    return [line for name in os.listdir(folder) for line in open(f"{folder}/{name}")]

def whole(line):
    try:
        return bool(json.loads(line))
    except ValueError:
        return False

code, (_, ticks) = in_child(lambda: run(SCRIPT, f"{HOME}/whole").stop_reason, 10**9)
assert code == 0 and len(effects()) == 4, (code, effects())
for at in points(ticks):
    os.unlink("effects") if os.path.exists("effects") else None
    home = f"{HOME}/{at}"
    code, _ = in_child(lambda: run(SCRIPT, home).stop_reason, at)
    _, (after, _) = in_child(lambda: found(home))
    print(json.dumps({"at": at, "of": ticks, "code": code, "found": after}), flush=True)
"""


def assert_at_most_once(found: dict[str, Any]) -> None:
    """Each write once, none without a claim, and the in-flight one unknown."""
    before, after, states = found["before"], found["after"], found["states"]
    assert len(after) == len(set(after)), found
    assert set(before) <= set(states), found
    assert "running" not in found["open"], found
    done = {name for name, state in states.items() if state == "succeeded"}
    assert done <= set(before), found
    unknown = {name for name, state in states.items() if state == "running"}
    assert len(unknown) <= 1, found
    assert found["torn"] == 0, found
    puts = [name for name in ("put A", "put C") if name in states]
    for name, told in zip(("put A", "put C"), found["told"], strict=False):
        if name in unknown:
            assert json.loads(told)["type"] == "unknown", found
        else:
            assert json.loads(told) == {"status": "completed", "result": name}, found
    stopped = "outcome_unknown" if unknown & set(puts) else "final_answer"
    assert found["stop"] == stopped, found


@pytest.mark.parametrize("part", range(PARTS))
def test_wherever_it_is_killed_each_write_happened_at_most_once(tmp_path: Path, part: int) -> None:
    """What was done is answered with its result, what was running is refused, and the rest may run."""
    lines = told_by(PROGRAM, part, tmp_path)
    assert len(lines) == 10
    assert {line["code"] for line in lines} == {9}
    for line in lines:
        assert_at_most_once(line["found"])
