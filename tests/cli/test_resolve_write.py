"""A person looks at writes of which nobody knows what came of them, and says what did."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from traced_loop import Loop, NotApplied, Policy, ScriptedModel, StopReason, allow_when, tool
from traced_loop.call_ledger import Write
from traced_loop.cli.resolve_write import how_to_resolve
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store
from traced_loop.records.write_rows import events_of_run
from traced_loop.testing import calls

from ..command_line import traced_loop

PAID: list[str] = []


@tool(effect="write", key=lambda order: f"pay:{order}")
def pay(order: str) -> str:
    """Pay."""
    PAID.append(order)
    if order == "never":
        raise NotApplied("closed")
    if len(PAID) == 1:
        raise ConnectionResetError
    return "paid now"


def run() -> Loop:
    """A loop that pays, and says so."""
    return Loop(
        ScriptedModel([calls(("pay", {"order": "A"})), "end"]), [pay], policy=Policy(rules=[allow_when(effect="write")])
    )


@pytest.fixture
def unknown(home: Path) -> str:
    """The id of a run that left a write unknown."""
    PAID.clear()
    result = run().run("Go.")
    assert result.stop_reason is StopReason.OUTCOME_UNKNOWN
    return result.run_id


def test_unknown_writes_are_listed_with_what_a_person_needs(unknown: str) -> None:
    """Run, call, tool, since when, its key and its arguments."""
    listed = traced_loop("ledger")
    assert listed.code == 0
    first, second = listed.out.splitlines()
    assert first.startswith(f"{unknown}  call_1  pay  unknown  since 20")
    assert second.split() == ["pay:A", '{"order":"A"}']
    assert listed.err == f"when you know what came of it: traced-loop resolve {unknown} call_1 --done, or --not-done\n"
    as_json = traced_loop("ledger", "--json").json
    assert (as_json["run_id"], as_json["call_id"], as_json["state"]) == (unknown, "call_1", "unknown")


def test_of_several_unknown_writes_the_command_names_the_first_and_the_others_are_counted(
    unknown: str, home: Path
) -> None:
    """An id that a model chose is one word of the command."""
    ledger = DurableLedger(Store.open(home))
    for n in range(2):
        write = Write(tool="pay", key=f"k{n}", fingerprint="f", declared=True, run_id="run-2", call_id=f"c;{n}")
        ledger.doubt(write)
    line = traced_loop("ledger").err
    assert f"traced-loop resolve {unknown} call_1 --done, or --not-done (and 2 more)" in line
    assert "traced-loop resolve run-2 'c;0' --done" in how_to_resolve([("run-2", "c;0", None), ("run-2", "c;1", None)])


def test_what_is_resolved_as_done_is_answered_with_the_result(unknown: str, home: Path) -> None:
    """And is never done again; who said so is recorded."""
    ended = traced_loop(
        "resolve", unknown, "call_1", "--done", "--result", "no. 7", "--by", "ann", "--note", "ticket 5"
    )
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "pay (call_1) is recorded as done: a call of it is answered with this result\n"
    again = run().run("Go.")

    assert (PAID, again.answer) == (["A"], "end")
    assert json.loads(again.messages[2]["content"])["result"] == "no. 7"
    last = events_of_run(IndexReader(home / "store.db"), unknown)[-1]
    assert (last.event, last.by, last.note) == ("succeeded", "ann", "ticket 5")
    assert traced_loop("ledger").out == "no writes run, and none is unknown\n"
    assert traced_loop("ledger", unknown).out.splitlines()[0].endswith("Z  by ann  ticket 5")
    as_json = traced_loop("ledger", unknown, "--json").json
    assert (as_json["state"], as_json["by"], as_json["note"]) == ("succeeded", "ann", "ticket 5")


def test_a_write_that_its_loop_ended_is_said_by_nobody(home: Path) -> None:
    """Only another's word needs a name."""
    del home
    PAID[:] = ["earlier"]
    result = run().run("Go.")
    assert " by " not in traced_loop("ledger", result.run_id).out
    assert traced_loop("ledger", result.run_id, "--json").json["by"] is None


def test_what_is_resolved_as_not_done_may_run(unknown: str) -> None:
    """Once."""
    assert traced_loop("resolve", "last", "call_1", "--not-done").code == 0
    assert (run().run("Go.").answer, PAID) == ("end", ["A", "A"])
    assert traced_loop("ledger", unknown).out == "no writes in this run\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("last", "call_1"), "say what came of it: --done, or --not-done"),
        (("last", "call_1", "--not-done", "--result", "x"), "--result goes with --done"),
        (("last", "call_9", "--done"), "no write with the call id 'call_9'; its unknown writes: call_1"),
        (("nobody", "call_1", "--done"), "there is no run 'nobody'"),
    ],
)
def test_what_cannot_be_resolved_is_said(unknown: str, arguments: tuple[str, ...], said: str) -> None:
    """In one line, and nothing is changed."""
    ended = traced_loop("resolve", *arguments)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert "unknown" in traced_loop("ledger", unknown).out


def test_a_write_is_resolved_once(unknown: str) -> None:
    """The second person is told what is known."""
    first = traced_loop("resolve", unknown, "call_1", "--done")
    assert (first.code, "a call of it is told that it was done" in first.out) == (0, True)
    ended = traced_loop("resolve", unknown, "call_1", "--not-done")
    assert (ended.code, "is not unknown but succeeded" in ended.err) == (2, True)


def test_a_write_that_still_runs_is_not_resolved(unknown: str, home: Path) -> None:
    """Its process may yet do it."""
    store = Store.open(home)
    store.write("UPDATE writes SET state = 'running'", [()])
    ended = traced_loop("resolve", unknown, "call_1", "--done")
    assert (ended.code, "it still runs, so end its process first" in ended.err) == (2, True)


def test_of_several_writes_of_one_call_id_the_key_says_which(unknown: str, home: Path) -> None:
    """Servers use an id again in a later step."""
    ledger = DurableLedger(Store.open(home))
    write = Write(tool="pay", key="pay:B", fingerprint="f", declared=True, run_id=unknown, call_id="call_1")
    ledger.doubt(write)
    assert f"resolve {unknown} call_1 --key pay:A --done" in traced_loop("ledger").err
    ended = traced_loop("resolve", unknown, "call_1", "--done")
    assert (ended.code, "say which with --key, of 'pay:A', 'pay:B'" in ended.err) == (2, True)
    assert traced_loop("resolve", unknown, "call_1", "--done", "--key", "pay:B").code == 0
    assert ledger.standing(write).state == "succeeded"
    assert ledger.standing(replace(write, key="pay:A")).state == "conflict"


def test_a_loss_is_accepted_by_a_person(home: Path) -> None:
    """Until then keys that the lost ledger may have used are not used, and every run says so."""
    home.mkdir(mode=0o700)
    (home / "store.db").write_text("no database " * 500)
    PAID.clear()
    PAID.append("earlier")
    refused = run().run("Go.")
    assert (refused.stop_reason, PAID) == (StopReason.HARNESS_ERROR, ["earlier"])
    assert "the store is damaged" in refused.stop_detail
    assert "its old file is kept as store.db.damaged-" in traced_loop("ledger").err

    assert traced_loop("ledger", "--accept-loss").out == "no writes run, and none is unknown\n"
    assert (run().run("Go.").answer, PAID) == ("end", ["earlier", "A"])


def test_there_may_be_no_store(home: Path) -> None:
    """Then nothing is unknown, and none is made."""
    assert traced_loop("ledger").out == "no writes run, and none is unknown\n"
    assert not home.exists()
