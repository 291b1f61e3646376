"""One server's answers: each form is taken once, and an answer comes back when its run has begun, or cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traced_loop import Loop, ScriptedModel, tool
from traced_loop.testing import calls
from traced_loop.tool_registry import ToolRegistry
from traced_loop.web.approved_form import Answers
from traced_loop.web.confirmations import Confirmations, Refused
from traced_loop.web.live_runs import LiveRun, LiveRuns
from traced_loop.web.loops_of_page import LoopsOfPage

if TYPE_CHECKING:
    from pathlib import Path


@tool(effect="write")
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


PAY = calls(("pay", {"cents": 1}))
YES = Answers(said={"call_1": True}, by="ann")


def loop(*script: Any) -> Loop:
    """A loop of its own each time."""
    return Loop(ScriptedModel(list(script)), [pay])


def confirmations(folder: Path, *script: Any) -> Confirmations:
    """Of a server with this loop."""
    return Confirmations(folder, LoopsOfPage(lambda _key: loop(*script), ToolRegistry([pay]), model="m"))


def test_an_answer_comes_back_when_its_run_has_begun(home: Path) -> None:
    """It is a run of this process then."""
    paused = loop(PAY).run("Go.")
    known = confirmations(home, "done")
    run = known.pending.of_run(paused.run_id)
    assert run is not None
    live = LiveRuns()
    carried = known.answer(run, YES, live)
    assert isinstance(carried, LiveRun)
    assert (carried.run_id, live.find(carried.name)) == (paused.run_id, carried)


def test_a_run_that_somebody_else_has_taken_is_refused(home: Path) -> None:
    """With what to do, and nothing begun."""
    paused = loop(PAY).run("Go.")
    known = confirmations(home, "done")
    run = known.pending.of_run(paused.run_id)
    assert run is not None
    loop("done").resume(paused.run_id, reject=["call_1"])
    refused = known.answer(run, YES, LiveRuns())
    assert isinstance(refused, Refused)
    assert "has gone on since" in refused.reason


def test_where_nothing_can_go_on_an_answer_is_refused(home: Path) -> None:
    """A page that was given nothing."""
    paused = loop(PAY).run("Go.")
    known = Confirmations(home)
    run = known.pending.of_run(paused.run_id)
    assert run is not None
    assert isinstance(known.answer(run, YES, LiveRuns()), Refused)
    assert known.tools_version == ""


def test_a_form_is_taken_once_unless_nothing_was_done_by_it(home: Path) -> None:
    """Old ones are forgotten in the end: their runs have gone on."""
    known = confirmations(home)
    assert [known.take("a"), known.take("a"), known.take("b")] == [True, False, True]
    known.give_back("a")
    assert known.take("a")
    for n in range(300):
        known.take(str(n))
    assert (known.take("b"), known.take("299")) == (True, False)
