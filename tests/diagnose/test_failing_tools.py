"""Tools that failed, each call counted once; what is known of a write by now."""

from __future__ import annotations

from dataclasses import replace

from traced_loop.diagnose.failing_tools import failing_tools
from traced_loop.diagnose.finding import Severity
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.trace import StoredTrace

RAN = StoredCall(
    index=0, call_id="call_1", tool="pay", key="k", effect="write", ran=True, outcome="unknown_after_crash"
)
AGAIN = replace(RAN, index=1, ran=False, outcome="unknown")
SAID = SettledWrite(call_id="call_1", tool="pay", state="done", by="ann")


def found(*calls: StoredCall) -> list[tuple[Severity, str]]:
    """Severity and title of what is found of these calls."""
    run = AgentRun(id="r", dialect="traced_loop", trace=StoredTrace(), calls=calls)
    return [(each.severity, each.title) for each in failing_tools(run, Severity.WASTE)]


def test_a_call_that_a_resumed_run_came_upon_again_is_one_call() -> None:
    """By its tool, its id and its key."""
    [(severity, title)] = found(RAN, AGAIN, replace(AGAIN, index=2))
    assert severity is Severity.ERROR
    assert title == "pay failed in 1 of 1 call: unknown_after_crash; nobody knows whether it was applied"


def test_the_same_id_with_another_key_is_another_call() -> None:
    """Servers use ids again."""
    [(_, title)] = found(RAN, replace(RAN, index=1, key="k2"))
    assert title.startswith("pay failed in 2 of 2 calls: ")


def test_a_write_that_another_run_left_unknown_is_a_call_though_it_did_not_run() -> None:
    """No tool fails in more calls than there are."""
    [(_, title)] = found(AGAIN)
    assert title.startswith("pay failed in 1 of 1 call: unknown")


def test_a_write_that_is_known_by_now_is_a_note_and_the_others_stay_what_they_are() -> None:
    """Nothing is left to be looked at."""
    other = replace(RAN, index=2, call_id="call_2", key="k2")
    first, second = found(replace(RAN, settled=SAID), replace(AGAIN, settled=SAID), other)
    assert first[1].startswith("pay failed in 1 of 2 calls: ")
    assert second[0] is Severity.NOTE
    assert second[1].startswith("the outcome of pay (call_1) was unknown: it was applied, said by ann")
