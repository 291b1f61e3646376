"""What a person said of a write that a killed process left open is what every view says of it from then on.

The process is killed in its tool. The run is recovered, stops at the write when it is resumed, a person says what came
of the write, and the run goes on, or does not.
"""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop.diagnose.diagnosis import Diagnosis, diagnose
from traced_loop.diagnose.finding import FindingKind, Severity
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.read.run_files import run_files
from traced_loop.read.stored_agent_run import stored_agent_run

from .command_line import traced_loop
from .python_program import run_python

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import os, signal, sys
from traced_loop import Loop, Policy, ScriptedModel, allow_when, tool
from traced_loop.models.scripted import calls

@tool(effect="write", serial_group="till")
def pay(name: str) -> str:
    "Pay."
    if name not in os.environ.get("PAYS", "").split(","):
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"

asked = [("pay", {"name": each}) for each in os.environ.get("ASKED", "a").split(",")]
lines = ["done"] if "RESUMED" in os.environ else [calls(*asked), "done"]
loop = Loop(ScriptedModel(lines), [pay], policy=Policy(rules=[allow_when("pay")]))
"""
BEGIN = f"{PROGRAM}\nloop.run('go')"
RESUME = """
from traced_loop.read.local_store import LocalStore
with LocalStore.open() as store:
    run_id = store.find("last")
result = loop.resume(run_id)
print(result.stop_reason)
"""
SAID = "by ann on 20"


def killed(home: Path, **variables: str) -> None:
    """A run whose process was killed in its write, and that has been recovered."""
    assert run_python(BEGIN, home, **variables).code == -signal.SIGKILL
    assert traced_loop("recover").code == 0


def resumed(home: Path, **variables: str) -> str:
    """Resume it in a process of its own; why it stopped then."""
    ended = run_python(PROGRAM + RESUME, home, RESUMED="yes", **variables)
    return ended.out.strip() or str(ended.code)


def resolved(call: str, *said: str) -> None:
    """Ann has looked."""
    ended = traced_loop("resolve", "last", call, *said, "--by", "ann", "--note", "ticket 5")
    assert ended.code == 0, ended.err


def shown() -> str:
    """What ``show`` says, on lines as long as they need be."""
    return traced_loop("show", "last").out


def diagnosis(home: Path) -> Diagnosis:
    """Of the newest run, with its ledger."""
    with LocalStore.open(home) as store:
        return diagnose(stored_agent_run(store, store.find("last"), our_run))


def failing(found: Diagnosis) -> list[Any]:
    """Severity and title of what it found of tools that failed."""
    return [(each.severity, each.title) for each in found.findings if each.kind is FindingKind.FAILING_TOOL]


def test_what_a_person_said_is_said_by_show_and_diagnose_once_the_run_has_gone_on(home: Path) -> None:
    """Who said it, when, and how they know; no view goes on saying that nobody knows."""
    killed(home)
    assert resumed(home) == "outcome_unknown"
    resolved("call_1", "--done")
    assert resumed(home) == "final_answer"

    text = shown()
    assert "(call_1) may have been applied" not in text
    assert text.count("resolved") == 1
    assert f"execute_tool pay (call_1) was applied, said {SAID}" in text
    assert "ticket 5" in text
    [write] = traced_loop("show", "last", "--json").json["settled_writes"]
    assert (write["call_id"], write["tool"], write["state"], write["by"]) == ("call_1", "pay", "done", "ann")
    assert write["note"] == "ticket 5"
    assert write["at"].startswith("20")

    found = diagnosis(home)
    [(severity, title)] = failing(found)
    assert severity is Severity.NOTE
    assert title.startswith(f"the outcome of pay (call_1) was unknown: it was applied, said {SAID}")
    assert found.is_healthy
    said = traced_loop("diagnose", "last").out
    assert "nobody knows" not in said
    assert SAID in said
    as_json = traced_loop("diagnose", "last", "--json").json
    assert [each["by"] for each in as_json["settled_writes"]] == ["ann"]


def test_what_was_not_done_and_is_tried_again_is_known_to_be_done(home: Path) -> None:
    """The newest of what the ledger knows counts: the run itself did it in the end."""
    killed(home)
    assert resumed(home) == "outcome_unknown"
    resolved("call_1", "--not-done")
    assert resumed(home, PAYS="a") == "final_answer"

    text = shown()
    assert "(call_1) may have been applied" not in text
    assert "execute_tool pay (call_1) was applied, as its run recorded on 20" in text
    assert diagnosis(home).is_healthy


@pytest.mark.parametrize(("said", "came"), [("--done", "was applied"), ("--not-done", "was not applied")])
def test_it_is_said_before_the_run_goes_on(home: Path, said: str, came: str) -> None:
    """The run still stopped for it; what is to be done now is to go on."""
    killed(home)
    assert resumed(home) == "outcome_unknown"
    resolved("call_1", said)

    text = shown()
    assert "(call_1) may have been applied" not in text
    assert f"execute_tool pay (call_1) {came}, said {SAID}" in text
    found = diagnosis(home)
    [stopped] = [each for each in found.findings if each.kind is FindingKind.STOPPED]
    assert f"pay (call_1) {came}, said {SAID}" in stopped.title
    assert "nobody knows" not in traced_loop("diagnose", "last").out
    assert "traced-loop resume" in stopped.prevent


def test_a_call_is_counted_once_however_many_spans_of_it_there_are(home: Path) -> None:
    """Each process that went on has spans of it; until somebody has looked, nobody knows, which is said once."""
    killed(home)
    assert resumed(home) == "outcome_unknown"
    assert resumed(home) == "outcome_unknown"

    assert shown().count("(call_1) may have been applied") == 1
    found = diagnosis(home)
    [(severity, title)] = failing(found)
    assert severity is Severity.ERROR
    assert title.startswith("pay failed in 1 of 1 call: ")
    assert title.endswith("nobody knows whether it was applied")
    [writes] = [each for each in found.findings if each.kind is FindingKind.WRITES]
    assert writes.title == "nobody knows whether it is done: pay (call_1)"


def test_of_several_writes_each_has_its_own_word(home: Path) -> None:
    """One is known by now, of the other nobody knows."""
    killed(home, ASKED="a,b")
    resolved("call_1", "--not-done")
    assert resumed(home, ASKED="a,b", PAYS="a") == str(-signal.SIGKILL)
    assert traced_loop("recover").code == 0

    text = shown()
    assert "execute_tool pay (call_1) was applied, as its run recorded" in text
    assert text.count(") may have been applied") == 1
    assert "execute_tool pay (call_2) may have been applied" in text
    assert "nobody knows whether it was applied" in "".join(title for _, title in failing(diagnosis(home)))

    resolved("call_2", "--done")
    assert f"execute_tool pay (call_2) was applied, said {SAID}" in shown()
    assert len(traced_loop("show", "last", "--json").json["settled_writes"]) == 2


def test_a_trace_without_its_ledger_says_what_was_known_then(home: Path, tmp_path: Path) -> None:
    """Its spans stay as they were."""
    killed(home)
    resolved("call_1", "--done")
    with LocalStore.open(home) as store:
        run_id = store.find("last")
    copied = tmp_path / "copy.jsonl"
    copied.write_bytes(b"".join(path.read_bytes() for path in run_files(home / "spans", run_id) if path.exists()))

    ended = traced_loop("diagnose", str(copied), "--json")

    titles = [each["title"] for each in json.loads(ended.out)["findings"]]
    assert any("nobody knows whether it was applied" in title for title in titles)
    assert json.loads(ended.out)["settled_writes"] == []
