"""What waits in a store, as the page counts and lists it, whoever writes the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traced_loop import Loop, ScriptedModel, tool
from traced_loop.records.store import Store
from traced_loop.testing import calls
from traced_loop.web import pending_calls
from traced_loop.web.pending_calls import PendingCalls

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@tool(effect="write")
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


PAY = calls(("pay", {"cents": 1}))


def loop(*script: Any) -> Loop:
    """A loop of its own each time."""
    return Loop(ScriptedModel(list(script), name="m"), [pay])


def test_a_store_that_is_not_there_has_nothing_that_waits(home: Path) -> None:
    """And none is made."""
    pending = PendingCalls(home)
    assert (pending.count(), pending.all().runs, pending.of_run("x")) == ((0, False), (), None)
    assert not home.exists()


def test_calls_are_counted_until_their_run_goes_on(home: Path) -> None:
    """Newest first; one that goes on with another call that waits is counted anew."""
    pending = PendingCalls(home)
    first, second = loop(PAY).run("Go."), loop(PAY).run("Go.")
    loop("done").run("Go.")
    assert pending.count() == (2, False)
    assert [run.run_id for run in pending.all().runs] == [second.run_id, first.run_id]
    again = calls(("pay", {"cents": 2}))
    loop(again).resume(first.run_id, confirm=["call_1"])
    assert pending.count() == (2, False)
    waits = pending.of_run(first.run_id)
    assert waits is not None
    assert waits.waiting[0].arguments == {"cents": 2}
    loop("done").resume(first.run_id, reject=["call_1"])
    assert (pending.count(), pending.of_run(first.run_id)) == ((1, False), None)


def test_a_run_is_read_once_for_each_of_its_ends(home: Path) -> None:
    """The number on every page costs no look at messages and spans of runs that stand as they stood."""
    paused = loop(PAY).run("Go.")
    pending = PendingCalls(home)
    assert pending.count() == (1, False)
    Store.open().write("UPDATE messages SET body = '{' WHERE run_id = ?", [(paused.run_id,)])
    assert pending.count() == (1, False)
    assert pending.all().unreadable == (paused.run_id,)
    assert PendingCalls(home).count() == (1, False)


def test_of_very_many_the_newest_are_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is said that there are more."""
    monkeypatch.setattr(pending_calls, "MAX_RUNS", 2)
    runs = [loop(PAY).run("Go.").run_id for _ in range(3)]
    pending = PendingCalls(home)
    assert pending.count() == (2, True)
    found = pending.all()
    assert ([run.run_id for run in found.runs], found.is_more) == (runs[:0:-1], True)


def test_what_a_script_played_is_listed_and_not_counted(home: Path) -> None:
    """Nobody has to answer a demonstration."""
    shown = Loop(ScriptedModel([PAY]), [pay]).run("Go.")
    pending = PendingCalls(home)

    assert pending.count() == (0, False)
    assert [run.run_id for run in pending.all().runs] == [shown.run_id]
