"""One hang is one finding, and no advice to raise a timeout stands beside one to lower it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Budget, tool
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import FindingKind
from traced_loop.testing import CountedClock, calls

from .stored_runs import played_run

if TYPE_CHECKING:
    from traced_loop.diagnose.finding import Finding

OF_THE_HANG = {FindingKind.STOPPED, FindingKind.SLOW_TOOL, FindingKind.FAILING_TOOL}
WAYS: dict[str, tuple[dict[str, Any], FindingKind]] = {
    "the tool's timeout ends the run": ({}, FindingKind.STOPPED),
    "the deadline ends it": ({"budget": Budget(seconds=0.1)}, FindingKind.STOPPED),
    "the model is told": ({"on_timeout": "report"}, FindingKind.FAILING_TOOL),
}


def hung(**options: Any) -> list[Finding]:
    """What is found about a tool that hangs for half a minute of the clock."""
    clock = CountedClock()

    @tool(effect="read", timeout=0.2)
    async def hang() -> str:
        """Does not come back."""
        clock.advance(30)
        await asyncio.sleep(60)
        return "late"

    script = [calls(("hang", {})), *(["42"] if "on_timeout" in options else [])]
    run = played_run(script, [hang], clock=clock, **options)
    return [finding for finding in diagnose(run).findings if finding.kind in OF_THE_HANG]


@pytest.mark.parametrize(("options", "kind"), WAYS.values(), ids=list(WAYS))
def test_one_hang_is_one_finding(options: dict[str, Any], kind: FindingKind) -> None:
    """With what it cost, and one advice."""
    [found] = hung(**options)

    assert found.kind is kind
    assert found.calls == (0,)
    assert (found.cost_ns or 0) >= 30 * 10**9
    assert "timeout=" in found.prevent
    assert not ("below" in found.prevent and "larger timeout=" in found.prevent)


def test_a_tool_that_is_slow_and_fails_at_something_else_is_two_findings() -> None:
    """Only what is the same is said once."""
    clock = CountedClock()

    @tool(effect="read")
    async def slow(place: int) -> str:
        """Takes long; the first time it fails."""
        clock.advance(30)
        if place == 1:
            raise ValueError("no")
        return "found"

    run = played_run([calls(("slow", {"place": 1})), calls(("slow", {"place": 2})), "42"], [slow], clock=clock)
    kinds = {finding.kind for finding in diagnose(run).findings}

    assert {FindingKind.SLOW_TOOL, FindingKind.FAILING_TOOL} <= kinds
