"""What runs wait for is known while they wait: from open spans, one word a run."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Approved, Loop, Policy, ScriptedModel, tool
from traced_loop.models.scripted import calls
from traced_loop.setup import Wiring
from traced_loop.telemetry.active_runs import ActiveRuns, Wait
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.metrics import RunMetrics
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedIds

from .collected_metrics import Collected

if TYPE_CHECKING:
    from collections.abc import Callable


class Watched:
    """Runs whose waits are asked for in the middle, on a clock that is told how late it is."""

    def __init__(self) -> None:
        self.now = 100.0
        self.active = ActiveRuns(lambda: self.now)
        self.seen: list[list[Wait]] = []

    def look(self) -> None:
        """Ask now, five seconds after the last thing that happened."""
        self.now += 5
        self.seen.append(list(self.active.waits()))

    def run(self, script: list[Any], *tools: Any, **options: Any) -> list[list[Wait]]:
        """What was seen while the script ran."""
        metrics = RunMetrics(Collected().meter, active=self.active)
        telemetry = Telemetry(metrics=metrics, ids=CountedIds())
        wiring = Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"a key for tests"))
        Loop(ScriptedModel(script), tools, wiring=wiring, name="shop", **options).run("Go.")
        assert list(self.active.waits()) == []
        return self.seen


@pytest.fixture
def watched() -> Watched:
    """Nothing runs yet."""
    return Watched()


def waiting(waits_for: Any, tool: str | None = None, seconds: float = 5.0) -> list[Wait]:
    """One run of the agent waits."""
    return [Wait(agent="shop", waits_for=waits_for, tool=tool, seconds=seconds)]


def looking(watched: Watched, answer: Any) -> Callable[[object], Any]:
    """A line of a script that looks before it answers."""

    def line(_request: object) -> Any:
        watched.look()
        return answer

    return line


def test_a_run_waits_for_its_model(watched: Watched) -> None:
    """Since the request began."""
    assert watched.run([looking(watched, "done")]) == [waiting("model")]


def test_a_run_waits_for_a_tool_by_name(watched: Watched) -> None:
    """Seen from the tool itself."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        watched.look()
        return "seen"

    assert watched.run([calls(("look", {})), "done"], look) == [waiting("tool", "look")]


def test_of_several_waits_the_longest_is_the_runs(watched: Watched) -> None:
    """Each run is counted once: by the tool that is out longest, which is the one that holds it up."""
    both, first_done = threading.Barrier(2), threading.Event()

    @tool(effect="read")
    def quick() -> str:
        """End first."""
        both.wait(60)
        return "quick"

    @tool(effect="read")
    def slow() -> str:
        """End last."""
        both.wait(60)
        first_done.wait(60)
        watched.look()
        return "slow"

    def told(event: object) -> None:
        if getattr(getattr(event, "result", None), "call", None) is not None:
            first_done.set()

    seen = watched.run([calls(("quick", {}), ("slow", {})), "done"], quick, slow, on_event=told)
    assert seen == [waiting("tool", "slow")]


def test_a_run_waits_for_a_person(watched: Watched) -> None:
    """While the question stands; not while the policy only finds out that it has to be asked."""

    @tool(effect="write")
    def send() -> str:
        """Send."""
        return "sent"

    def ask(_pending: object) -> Approved:
        watched.look()
        return Approved(by="me")

    seen = watched.run([calls(("send", {})), "done"], send, policy=Policy(confirm=ask))
    assert seen == [waiting("confirmation", "send")]


def test_a_run_waits_for_a_rule_that_decides(watched: Watched) -> None:
    """A rule may ask another service; nobody is asked to confirm yet."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    async def rule(_proposal: object) -> str:
        await asyncio.sleep(0)
        watched.look()
        return "allow"

    seen = watched.run([calls(("look", {})), "done"], look, policy=Policy(rules=[rule]))
    assert seen == [waiting("policy", "look")]


def test_a_callback_that_takes_its_time_is_the_loops_own_wait(watched: Watched) -> None:
    """Since what happened last; there is no span to blame."""
    seen = watched.run(["done"], on_event=lambda _event: watched.look())
    assert {wait.waits_for for waits in seen for wait in waits} == {"loop"}
    assert seen[0] == waiting("loop")


def test_what_a_request_answers_is_asked_once() -> None:
    """And nothing is known of a run that is over."""
    active = ActiveRuns()
    assert active.answered("nowhere") == ()
    assert active.agent_of("nowhere") == ""
