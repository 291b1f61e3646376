"""A deadline is blamed on what used the time that it counts, or on the write that was too long for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Budget, Policy, ScriptedModel, tool
from traced_loop.diagnose.stop import stopped
from traced_loop.diagnose.time_books import time_books
from traced_loop.diagnose.token_books import token_books
from traced_loop.testing import CountedClock, calls

from .stored_runs import SECOND, played_run

if TYPE_CHECKING:
    from traced_loop.diagnose.finding import Finding


@tool(effect="write", timeout=30)
async def reserve() -> str:
    """May take long."""
    return "reserved"


@tool(effect="read")
async def look() -> str:
    """Answers at once."""
    return "found"


def why(model: ScriptedModel, *, seconds: float, **options: Any) -> Finding:
    """The finding about a run that its deadline ended."""
    run = played_run([], [reserve, look], model=model, budget=Budget(seconds=seconds), **options)
    assert run.stop_reason == "deadline_exceeded"
    [found] = stopped(run, time_books(run), token_books(run))
    return found


@pytest.mark.parametrize("answer_seconds", [0, 8], ids=["a rule said yes", "a person took longer than the limit"])
def test_a_write_whose_timeout_is_above_what_is_left_is_the_cause(answer_seconds: int) -> None:
    """Neither the model nor the person is, who took next to nothing of the time that counts."""
    clock = CountedClock()

    def ask(_: object) -> bool:
        clock.advance(answer_seconds)
        return True

    found = why(ScriptedModel([calls(("reserve", {}))]), seconds=4, clock=clock, policy=Policy(confirm=ask))

    assert "the timeout of the write reserve (call_1) is above what the run has left" in found.title
    assert "a timeout= of reserve" in found.prevent
    assert "seconds=" in found.prevent
    assert "most of it went to" not in found.title
    assert "confirm_seconds" not in found.prevent
    assert found.cost_ns is None


def test_where_the_time_went_is_told_beside_a_write_that_came_late() -> None:
    """A run that had used half of its time or more could have left enough for it."""
    clock = CountedClock()

    def slow(_: object) -> Any:
        clock.advance(40)
        return calls(("reserve", {}))

    found = why(ScriptedModel([slow]), seconds=60, clock=clock, policy=Policy(confirm=lambda _: True))

    assert "the timeout of the write reserve (call_1) is above what the run has left" in found.title
    assert "most of it went to the model of step 1: 40 s" in found.title


def test_a_wait_for_a_person_is_never_what_used_up_the_time() -> None:
    """A deadline does not count it: what is blamed is the longest of the rest."""
    clock = CountedClock()

    def ask(_: object) -> bool:
        clock.advance(500)
        return True

    def slow(_: object) -> Any:
        clock.advance(70)
        return calls(("look", {}))

    script = [calls(("reserve", {})), slow]
    found = why(ScriptedModel(script), seconds=60, clock=clock, policy=Policy(confirm=ask))

    assert "most of it went to the model of step 2: 1 min 10 s" in found.title
    assert (found.cost_ns or 0) >= 70 * SECOND
    assert "confirm_seconds" not in found.prevent
