"""A run goes on with what was said about exactly the calls that were shown, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from traced_loop import Loop, ScriptedModel, UsageError, tool
from traced_loop.read.local_store import LocalStore
from traced_loop.testing import calls
from traced_loop.waiting_calls import waiting_run
from traced_loop.web.loops_of_page import LoopsOfPage, go_on

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.run_result import RunResult
    from traced_loop.waiting_calls import WaitingRun

PAID: list[int] = []


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    """Each test begins with none."""
    PAID.clear()


@tool(effect="write")
def pay(cents: int) -> str:
    """Pay."""
    PAID.append(cents)
    if cents == 13:
        raise TimeoutError
    return f"paid {cents}"


def loop(*script: Any) -> Loop:
    """A loop of its own each time."""
    return Loop(ScriptedModel(list(script)), [pay])


def paid(*cents: int) -> Any:
    """An answer with these calls."""
    return calls(*(("pay", {"cents": each}) for each in cents))


def paused(answer: Any) -> WaitingRun:
    """A run that waits, as a page shows it."""
    run_id = loop(answer).run("Go.").run_id
    with LocalStore.open() as store:
        found = waiting_run(store, run_id)
    assert found is not None
    return found


def gone_on(carrier: Loop, run: WaitingRun, said: dict[str, bool]) -> RunResult:
    """What comes of it."""
    return go_on(carrier, run, said, by="ann", tell=lambda _event: None)


def test_all_calls_of_an_answer_are_taken_one_after_the_other(home: Path) -> None:
    """Each at its turn, by the person who answered; the model is asked once, after all of them."""
    run = paused(paid(1, 2, 3))
    result = gone_on(loop("done"), run, {"call_1": True, "call_2": False, "call_3": True})
    assert (result.answer, PAID) == ("done", [1, 3])


def test_a_call_of_which_nothing_was_said_waits(home: Path) -> None:
    """The answers behind it are not taken before it is decided."""
    run = paused(paid(1, 2, 3))
    result = gone_on(loop(), run, {"call_1": True, "call_3": True})
    assert ([each.call.id for each in result.pending], PAID) == (["call_2"], [1])


def test_an_answer_is_none_to_a_call_of_a_later_answer(home: Path) -> None:
    """The same id with the same arguments, but not the call that was shown: the one that was did not run by then."""
    run = paused(paid(13, 2))
    result = gone_on(loop(), run, {"call_1": True, "call_2": True})
    assert (result.stop_reason, PAID) == ("outcome_unknown", [13])

    run = paused(paid(1))
    result = gone_on(loop(paid(5), paid(7)), run, {"call_1": True})
    assert (result.stop_reason, PAID) == ("confirmation_required", [13, 1])


def test_a_question_that_is_another_one_by_its_turn_is_asked(home: Path) -> None:
    """A rule that asks for another reason puts another question."""
    run = paused(paid(1, 2))
    shown = replace(run, behind=(replace(run.behind[0], rule="another"),))
    result = gone_on(loop(), shown, {"call_1": True, "call_2": True})
    assert ([each.call.id for each in result.pending], PAID) == (["call_2"], [1])


def test_a_run_that_has_gone_on_is_left_as_it_is(home: Path) -> None:
    """However it stands by now."""
    run = paused(paid(1))
    loop(paid(9)).resume(run.run_id, confirm=["call_1"])
    with pytest.raises(UsageError, match="has gone on since"):
        gone_on(loop("done"), run, {"call_1": True})
    assert PAID == [1]


def test_the_loop_is_made_once_and_what_is_missing_is_said() -> None:
    """A page without a model tells why, and asks again the next time."""
    made: list[Loop] = []

    def make(_key: str) -> Loop:
        if not made:
            made.append(loop())
            raise UsageError("no model: set OPENAI_MODEL")
        return made[0]

    loops = LoopsOfPage(make)
    assert loops.why_not() == "no model: set OPENAI_MODEL"
    assert loops.why_not() == ""
    assert loops.loop() is loops.loop()


def test_a_loop_with_a_typed_key_is_held_by_nobody_but_its_caller() -> None:
    """Each typed key has a loop of its own, and the one of the environment stays what it is."""
    keys: list[str] = []

    def make(key: str) -> Loop:
        keys.append(key)
        return loop()

    loops = LoopsOfPage(make)
    kept, typed = loops.loop(), ref(loops.loop("zQ4-typed"))
    assert typed() is None
    assert (loops.loop("zQ4-typed") is kept, loops.loop() is kept) == (False, True)
    assert keys == ["", "zQ4-typed", "zQ4-typed"]
