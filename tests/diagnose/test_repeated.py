"""What a detector finds becomes findings with their evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from traced_loop import tool
from traced_loop.diagnose import repeated as module
from traced_loop.diagnose.finding import FindingKind, Severity
from traced_loop.diagnose.repeated import repeated
from traced_loop.testing import calls

from .stored_runs import played_run

if TYPE_CHECKING:
    import pytest

    from traced_loop.read.agent_run import AgentRun


@tool(effect="read")
async def look(place: int) -> int:
    """Looks."""
    return place


@dataclass(frozen=True)
class Verdict:
    """As the detector gives it."""

    reaction: str
    at: int = 3
    first: int = 0
    kind: str = "equal_steps"
    count: int = 4

    def told(self) -> str:
        return "look brought the same 4 times"


def test_a_verdict_becomes_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the call that completed it, the first one, and how grave it is."""
    run = played_run([*(calls(("look", {"place": n})) for n in range(4)), "done"], [look])

    def verdicts(_: AgentRun) -> list[Verdict]:
        return [Verdict("stop"), Verdict("nudge"), Verdict("observe", at=99)]

    monkeypatch.setattr(module, "repetitions_of", verdicts)
    stop, nudge, observe = repeated(run)

    assert (stop.kind, stop.at_call, stop.reaction) == (FindingKind.REPETITION, 3, "stop")
    assert stop.evidence == (run.calls[3].spans[-1][1], run.calls[0].spans[-1][1])
    assert [each.severity for each in (stop, nudge, observe)] == [Severity.ERROR, Severity.WASTE, Severity.NOTE]
    assert observe.calls == (0,)


def test_a_run_that_repeats_nothing_has_no_such_finding() -> None:
    """An answer at once."""
    assert list(repeated(played_run(["42"]))) == []
