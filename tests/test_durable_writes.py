"""Where there is a store, writes are remembered in it: by every loop and process that opens it, for good."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traced_loop import (
    Approved,
    Budget,
    Loop,
    NotApplied,
    Outcome,
    Policy,
    ScriptedModel,
    StopReason,
    UsageError,
    allow_when,
    tool,
)
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import Store
from traced_loop.records.transcript import Transcript
from traced_loop.records.write_rows import events_of_run, rows_of_run
from traced_loop.setup import wire
from traced_loop.testing import Spans, calls
from traced_loop.tool_registry import Tool

from .command_line import traced_loop
from .python_program import run_python

WRITES = Policy(rules=[allow_when(effect="write")])


class Shop:
    """Counts what is really done."""

    def __init__(self, **options: Any) -> None:
        self.done: list[str] = []
        self.error: BaseException | None = None
        self._options = options

    def order(self) -> Tool:
        """A write with a key of its own."""

        @tool(effect="write", key=lambda item: f"order:{item}", **self._options)
        def order(item: str) -> str:
            """Order."""
            if self.error is not None:
                raise self.error
            self.done.append(item)
            return f"ordered {item}"

        return order

    def loop(self, *script: Any, policy: Policy = WRITES, **options: Any) -> Loop:
        """A loop of its own each time, as another process would have it."""
        return Loop(ScriptedModel(list(script)), [self.order()], policy=policy, **options)


A = calls(("order", {"item": "A"}))


def told(messages: Any) -> list[Any]:
    """What the model was told of its calls."""
    return [json.loads(message["content"]) for message in messages if message["role"] == "tool"]


def test_another_loop_is_answered_with_what_the_first_has_done(home: Path) -> None:
    """To the letter, and marked as replayed."""
    shop = Shop()
    first, second = shop.loop(A, "end").run("Go."), shop.loop(A, "end").run("Go.")

    assert shop.done == ["A"]
    assert told(first.messages) == told(second.messages)
    (row,) = rows_of_run(IndexReader(home / "store.db"), first.run_id)
    assert (row.state, row.call_id, json.loads(row.arguments)) == ("succeeded", "call_1", {"item": "A"})


def test_another_process_is_answered_with_the_same(home: Path) -> None:
    """Whenever it comes."""
    program = """
        from traced_loop import Loop, Policy, ScriptedModel, allow_when, tool
        from traced_loop.testing import calls

        @tool(effect="write", key=lambda item: f"order:{item}")
        def order(item: str) -> str:
            "Order."
            print("really ordered", item)
            return "ordered"

        script = [calls(("order", {"item": "A"})), "end"]
        result = Loop(ScriptedModel(script), [order], policy=Policy(rules=[allow_when(effect="write")])).run("Go.")
        print(result.messages[2]["content"])
    """
    first, second = run_python(program, home), run_python(program, home)
    assert first.out.splitlines() == ["really ordered A", '{"status":"completed","result":"ordered"}']
    assert second.out.splitlines() == ['{"status":"completed","result":"ordered"}']


def test_what_changed_nothing_may_run_in_another_loop(home: Path) -> None:
    """Its key is free again."""
    shop = Shop()
    shop.error = NotApplied("closed")
    assert shop.loop(A, "end").run("Go.").answer == "end"
    shop.error = None
    assert shop.loop(A, "end").run("Go.").answer == "end"
    assert shop.done == ["A"]


def test_equal_arguments_of_another_version_are_another_thing(home: Path) -> None:
    """What the old version did is no answer, and is not done again."""
    old, new = Shop(version="1"), Shop(version="2")
    old.loop(A, "end").run("Go.")
    result = new.loop(A, "end").run("Go.")

    assert (old.done, new.done) == (["A"], [])
    assert [each["type"] for each in told(result.messages)] == [Outcome.CONFLICT]


def test_who_approved_is_in_the_ledger_before_it_runs(home: Path) -> None:
    """And who rejected."""
    shop = Shop()
    approved = shop.loop(A, "end", policy=Policy(confirm=lambda _: Approved(by="ann"))).run("Go.")
    other = calls(("order", {"item": "B"}))
    rejected = shop.loop(other, "end", policy=Policy(confirm=lambda _: False, on_deny="report")).run("Go.")

    index = IndexReader(home / "store.db")
    assert [(e.event, e.by) for e in events_of_run(index, approved.run_id)] == [
        ("approved", "ann"),
        ("running", "loop"),
        ("succeeded", "loop"),
    ]
    assert [(e.event, e.by) for e in events_of_run(index, rejected.run_id)] == [("rejected", "a person")]


def test_tools_that_write_want_a_ledger_that_outlives_the_process() -> None:
    """Or somebody who says that memory is enough; reads want none."""
    shop = Shop()
    with pytest.raises(UsageError, match=r"'order' writes, and with store=None .* ledger=\"memory\""):
        shop.loop(store=None)
    shop.loop(store=None, ledger="memory")
    Loop(ScriptedModel([]), store=None)
    with pytest.raises(UsageError, match="ledger='disk': write 'store' or 'memory'"):
        shop.loop(ledger="disk")  # type: ignore[arg-type]


def test_a_ledger_in_memory_knows_what_its_loop_did(home: Path) -> None:
    """And nothing of others, though there is a store."""
    shop = Shop()
    loop = shop.loop(A, "end", A, "end", ledger="memory")
    loop.run("Go.")
    loop.run("Go.")
    shop.loop(A, "end", ledger="memory").run("Go.")

    assert shop.done == ["A", "A"]
    assert Store.open(home).read("SELECT count(*) FROM writes") == [(0,)]


def test_a_read_writes_nothing_into_the_ledger(home: Path) -> None:
    """It costs nothing there."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    Loop(ScriptedModel([calls(("look", {})), "end"]), [look]).run("Go.")
    store = Store.open(home)
    assert [store.read(f"SELECT count(*) FROM {table}") for table in ("writes", "write_events")] == [[(0,)], [(0,)]]


def test_what_a_run_has_spent_stands_beside_its_messages(home: Path) -> None:
    """As of the last of them: what a run goes on from that has no end."""
    result = Shop().loop(A, "end", budget=Budget(steps=5)).run("Go.")
    spent = Transcript(Store.open(home)).progress(result.run_id)

    assert spent is not None
    assert (spent["steps"], spent["model_requests"], spent["tool_calls"]) == (2, 2, 1)
    assert spent["tokens"] == result.usage.tokens
    assert Transcript(Store.open(home)).progress("nobody") is None


@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        ("done", StopReason.FINAL_ANSWER),
        ("unknown", StopReason.OUTCOME_UNKNOWN),
        ("perhaps", StopReason.OUTCOME_UNKNOWN),
    ],
)
def test_what_was_found_out_keeps_every_promise_on_the_stored_trace(home: Path, answer: str, stop: StopReason) -> None:
    """At the end of the execution, and before a later call."""
    shop = Shop(reconcile=lambda: answer)
    shop.error = ConnectionResetError()
    results = [shop.loop(A, "end").run("Go."), shop.loop(A, "end").run("Go.")]

    assert {result.stop_reason for result in results} == {stop}
    for result in results:
        ended = traced_loop("conform", result.run_id)
        assert (ended.code, "0 violations" in ended.out or "holds" in ended.out) == (0, True), ended.out


def test_spans_show_whose_result_a_replay_is(home: Path) -> None:
    """Linked to the execution in the other run's trace."""
    shop, spans = Shop(), Spans()
    first = shop.loop(A, "end").run("Go.")
    wiring = wire(home)
    wiring = replace(wiring, telemetry=type(wiring.telemetry)(sink=spans))
    shop.loop(A, "end", wiring=wiring).run("Go.")

    (replay,) = spans.named("traced_loop.replay")
    assert f"{replay.links[0][0]:032x}" == first.trace_id
