"""What the detector finds becomes findings with their evidence, gravity and cost."""

from traced_loop import Budget, tool
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.repeated import repeated
from traced_loop.read.agent_run import AgentRun
from traced_loop.testing import calls

from .stored_runs import played_run


@tool(effect="read")
async def look() -> str:
    """Brings the same each time."""
    return "the same"


def a_run() -> AgentRun:
    """Five equal steps, which nobody stops."""
    return played_run([*[calls(("look", {}))] * 5, "done"], [look], budget=Budget(), repetition="observe")


def found_in(run: AgentRun) -> list[Finding]:
    """The findings about repetition, as the diagnosis has them."""
    return [finding for finding in diagnose(run).findings if finding.kind is FindingKind.REPETITION]


def test_a_repetition_is_told_with_the_calls_that_make_it() -> None:
    """The one that completed it first, then the first one; how grave it is follows from what is due."""
    run = a_run()
    stop = found_in(run)[0]

    assert (stop.at_call, stop.severity) == (3, Severity.ERROR)
    assert stop.evidence == (run.calls[3].spans[-1][1], run.calls[0].spans[-1][1])
    assert "look brought the same 4 times" in stop.title


def test_a_repetition_cost_its_requests() -> None:
    """Those after the first one, up to the one that completed it."""
    run = a_run()
    again = run.requests[1:4]

    assert found_in(run)[0].cost_tokens == sum((r.input_tokens or 0) + (r.output_tokens or 0) for r in again)


def test_a_run_that_repeats_nothing_has_no_such_finding() -> None:
    """An answer at once."""
    assert list(repeated(played_run(["42"]))) == []
