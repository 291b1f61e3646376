"""A run without an end: one that runs is told from one that died, and from one of which nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Policy, tool
from traced_loop.diagnose.conformance import Rule, conform
from traced_loop.diagnose.diagnosis import Diagnosis, diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.read.agent_run import Gap
from traced_loop.testing import CountedClock, calls
from traced_loop.views.conformance import conformance_lines
from traced_loop.views.diagnosis import diagnosis_json, diagnosis_lines

from .stored_runs import SECOND, Killed, SpansUntilKilled, killed_run

if TYPE_CHECKING:
    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.run_entry import RunState


def left(state: RunState, *, seconds: int = 17, where: str = "tool") -> AgentRun:
    """A run that was left in a tool, or while a person was asked, so many seconds ago."""
    spans = SpansUntilKilled()

    def end(_: object = None) -> Any:
        spans.gone = True
        raise Killed

    @tool(effect="read", timeout=100)
    async def slow() -> str:
        """Takes long."""
        return str(end())

    @tool(effect="write")
    async def pay() -> str:
        """Is asked about."""
        return "paid"

    name = "slow" if where == "tool" else "pay"
    run = killed_run([calls((name, {}))], [slow, pay], spans, clock=CountedClock(), policy=Policy(confirm=end))
    until = run.end_ns + seconds * SECOND if state == "running" else run.end_ns
    return replace(run, state=state, end_ns=until)


def the_end(run: AgentRun) -> tuple[Diagnosis, Finding]:
    """The diagnosis, and its one finding about the end."""
    found = diagnose(run)
    [finding] = [each for each in found.findings if each.kind is FindingKind.NO_END]
    return found, finding


def test_a_run_that_runs_says_what_it_does_and_since_when() -> None:
    """The time until now is in its books, under what it does."""
    found, finding = the_end(left("running"))

    assert "it still runs, and has been in execute_tool slow (call_1) for 17 s now" in finding.title
    assert (finding.severity, found.is_faultless, found.is_running, found.is_healthy) == (
        Severity.NOTE,
        True,
        True,
        False,
    )
    assert "a smaller timeout= of slow" in finding.prevent
    assert "isolate" not in finding.prevent
    assert found.time.wall_ns["tool"] >= 17 * SECOND
    assert int(finding.numbers["open_ns"]) >= 17 * SECOND
    assert not [each for each in found.findings if each.kind is FindingKind.SLOW_TOOL]


def test_what_runs_in_one_piece_for_half_a_minute_is_more_than_a_note() -> None:
    """No tool has longer by default."""
    found, finding = the_end(left("running", seconds=31))

    assert (finding.severity, found.is_healthy) == (Severity.WASTE, False)


def test_a_run_that_waits_for_a_person_wants_an_answer() -> None:
    """What it waits for is under that heading."""
    found, finding = the_end(left("running", where="person"))

    assert "authorize_call (call_1) for 17 s now" in finding.title
    assert "answer it" in finding.prevent
    assert found.time.wall_ns["confirmation"] >= 17 * SECOND


@pytest.mark.parametrize(
    ("state", "said"), [("died", "it died, its process is gone"), ("unknown", "no end is recorded")]
)
def test_a_run_that_is_gone_is_an_error(state: RunState, said: str) -> None:
    """What ended the process comes first; a number that nobody knows is left out."""
    _, finding = the_end(left(state))

    assert finding.title.startswith(said)
    assert "the last sign of life came while it was in execute_tool slow (call_1)" in finding.title
    assert finding.severity is Severity.ERROR
    assert finding.prevent.startswith("look for what ended the process")
    assert "open_ns" not in finding.numbers


def test_pages_and_json_tell_the_three_apart() -> None:
    """A run without an end is never called healthy there."""
    states: list[RunState] = ["running", "died", "unknown"]
    found = [diagnose(left(state)) for state in states]
    heads = [diagnosis_lines([each])[0].plain for each in found]

    assert [diagnosis_json(each)["state"] for each in found] == states
    assert ["still running" in heads[0], "  died" in heads[1], "no end" in heads[2]] == [True] * 3
    assert not any("healthy" in head or "no fault" in head for head in heads)


def test_a_run_that_runs_breaks_no_promise_about_its_end() -> None:
    """Those are left out and counted; a run that died breaks them."""
    live, dead = conform(left("running")), conform(left("died"))
    shown = "\n".join(line.plain for line in conformance_lines([live]))

    assert (live.violations, live.is_running) == ((), True)
    assert "not ended: 6 checks left out" in shown
    assert Rule.SPANS_ENDED in live.not_checked
    assert Rule.SPANS_ENDED in {violation.rule for violation in dead.violations}
    assert (dead.is_running, dead.not_checked) == (False, ())


@pytest.mark.parametrize(("state", "told"), [("running", False), ("died", True), ("unknown", True)])
def test_a_run_that_runs_has_no_end_that_could_be_told(state: RunState, told: bool) -> None:
    """Why it ended is what a trace cannot tell only where the run has gone."""
    found, _ = the_end(left(state))

    assert (Gap.NO_STOP_REASON in found.gaps) is told
