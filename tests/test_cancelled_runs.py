"""Runs that are cancelled, wherever they are: finished results are kept, the rest is answered, nothing stays open."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from traced_loop import Loop, Policy, RunResult, ScriptedModel, StopReason, partial_result, tool
from traced_loop.background_loop import run_blocking
from traced_loop.events import CallFinished, Event
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring


class World:
    """A loop that gets stuck at one place, and tells when it is there."""

    def __init__(self, stuck_in: str) -> None:
        self.there = asyncio.Event()
        self.spans = Spans()

        async def stick(*_: Any) -> Any:
            self.there.set()
            await asyncio.Event().wait()

        @tool(effect="read")
        async def quick(n: int) -> int:
            """Be quick."""
            return n

        @tool(effect="read")
        async def slow() -> None:
            """Be slow."""
            await asyncio.sleep(0)
            await stick()

        @tool(effect="write")
        async def pay() -> None:
            """Pay."""
            await stick()

        scripts: dict[str, list[Any]] = {
            "request": [calls(("quick", {"n": 1})), stick],
            "parallel_reads": [calls(("quick", {"n": 1}), ("slow", {}), ("quick", {"n": 2}), ("nothing", {}))],
            "write": [calls(("quick", {"n": 1}), ("pay", {}), ("quick", {"n": 2}))],
            "confirmation": [calls(("quick", {"n": 1}), ("pay", {}), ("quick", {"n": 2}))],
            "rule": [calls(("quick", {"n": 1}), ("pay", {}))],
        }
        confirm: Callable[..., Any] = stick if stuck_in == "confirmation" else lambda _: True
        rules: list[Any] = [stick] if stuck_in == "rule" else []
        policy = Policy(confirm=confirm, rules=rules)
        tools: list[Any] = [quick, slow, pay]
        self.loop = Loop(ScriptedModel(scripts[stuck_in]), tools, policy=policy, wiring=counted_wiring(self.spans))


OUTCOMES = {
    "request": ["ok"],
    "parallel_reads": ["ok", "cancelled", "ok", "unknown_tool"],
    "write": ["ok", "unknown", "skipped_stop"],
    "confirmation": ["ok", "skipped_stop", "skipped_stop"],
    "rule": ["skipped_stop", "skipped_stop"],
}


def check(world: World, left: RunResult | None, outcomes: list[str]) -> None:
    """What is true of every cancelled run."""
    assert left is not None
    assert left.stop_reason is StopReason.CANCELLED
    assert pairing_problems(left.messages) == []
    assert world.spans.open == []
    assert [found for _, (found,) in sorted(world.spans.outcomes().items())] == outcomes
    (root,) = world.spans.named("invoke_agent")
    assert (root.error, root.attributes["error.type"]) == (True, "asyncio.exceptions.CancelledError")
    told = [m["content"] for m in left.messages if m["role"] == "tool"]
    assert [f'"type":"{o}"' in said or o == "ok" for o, said in zip(outcomes, told, strict=True)] == [True] * len(told)


@pytest.mark.parametrize("stuck_in", list(OUTCOMES))
@pytest.mark.parametrize("sync", [False, True], ids=["own_event_loop", "event_loop_of_run"])
def test_a_cancelled_run_keeps_what_it_has_and_answers_the_rest(stuck_in: str, sync: bool) -> None:
    """In a request, among parallel reads, in a write, while a person or a rule is asked."""

    async def cancel() -> tuple[World, RunResult | None]:
        world = World(stuck_in)
        task = asyncio.create_task(world.loop.arun("Go."))
        await world.there.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return world, partial_result(cancelled.value)

    check(*(run_blocking(cancel()) if sync else asyncio.run(cancel())), OUTCOMES[stuck_in])


@pytest.mark.parametrize("raises_at", [1, 2, 3, 4])
def test_a_callback_that_raises_ends_the_run_with_everything_answered(raises_at: int) -> None:
    """Its own exception goes on, with what was reached."""
    seen: list[Event] = []

    def broken(event: Event) -> None:
        seen.extend([event] * isinstance(event, CallFinished))
        if len(seen) == raises_at and isinstance(event, CallFinished):
            raise ZeroDivisionError

    @tool(effect="read")
    async def quick(n: int) -> int:
        """Be quick."""
        return n

    spans = Spans()
    batch = calls(("quick", {"n": 1}), ("quick", {"n": 2}), ("quick", {}), ("quick", {"n": 4}))
    loop = Loop(ScriptedModel([batch]), [quick], on_event=broken, wiring=counted_wiring(spans))
    with pytest.raises(ZeroDivisionError) as raised:
        loop.run("Go.")

    left = partial_result(raised.value)
    assert left is not None
    assert (left.stop_reason, spans.open) == (StopReason.HARNESS_ERROR, [])
    assert pairing_problems(left.messages) == []
    assert {len(found) for found in spans.outcomes().values()} == {1}
    assert len(spans.outcomes()) == 4
