"""The engine inside of the process: the contract of every engine, and which runs it knows."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from traced_loop import Loop, RunResult, ScriptedModel, StopReason, partial_result
from traced_loop.engine import Engine
from traced_loop.events import Event, RunStarted
from traced_loop.loop.embedded_engine import EmbeddedEngine
from traced_loop.testing import CountedIds, Spans, counted_wiring

from .engine_contract import EngineContract


class TestEmbeddedContract(EngineContract):
    """The contract, in this process."""

    @pytest.fixture
    def opened(self) -> Callable[[], Engine]:
        """There is nothing to be found."""
        return EmbeddedEngine


def stuck_loop() -> tuple[Loop, asyncio.Event]:
    """A loop whose model does not answer, and what tells that it is asked."""
    there = asyncio.Event()

    async def stick(*_: Any) -> Any:
        there.set()
        await asyncio.Event().wait()

    return Loop(ScriptedModel([stick, "done"]), ids=CountedIds(), wiring=counted_wiring(Spans())), there


def test_any_loop_of_the_process_can_cancel_a_run() -> None:
    """A server makes a loop per request, and the request to cancel is another one."""

    async def run() -> tuple[bool, RunResult, bool]:
        loop, there = stuck_loop()
        ids: list[str] = []

        def note(event: Event) -> None:
            ids.extend([event.run_id] if isinstance(event, RunStarted) else [])

        task = asyncio.create_task(loop.arun("Go.", on_event=note))
        await there.wait()
        cancelled = Loop(ScriptedModel([]), wiring=counted_wiring(Spans())).cancel(ids[0])
        return cancelled, await task, loop.cancel(ids[0])

    cancelled, result, again = asyncio.run(run())
    assert (cancelled, result.stop_reason, again) == (True, StopReason.CANCELLED, False)


def test_a_run_that_does_not_go_on_is_not_cancelled() -> None:
    """It is told, whether it is over or was never there."""
    loop = Loop(ScriptedModel(["done"]), wiring=counted_wiring(Spans()))
    result = loop.run("Go.")
    assert (result.answer, loop.cancel(result.run_id), loop.cancel("run-9")) == ("done", False, False)


def test_a_task_that_is_cancelled_itself_is_cancelled_whoever_else_cancels_the_run() -> None:
    """What waits for the run must end, and gets what it had reached."""

    async def run() -> RunResult | None:
        loop, there = stuck_loop()
        task = asyncio.create_task(loop.arun("Go."))
        await there.wait()
        assert loop.cancel("run-1")
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return partial_result(cancelled.value)

    left = asyncio.run(run())
    assert left is not None
    assert left.stop_reason is StopReason.CANCELLED


def test_a_body_that_ends_all_the_same_leaves_the_task_as_it_was() -> None:
    """What waits for the run is not cancelled later, whatever the body did about it."""

    async def run() -> tuple[bool, int]:
        engine, current = EmbeddedEngine(), asyncio.current_task()
        assert current is not None

        async def deaf(_task: str) -> None:
            assert engine.cancel("run-1")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return

        await engine.start("run-1", "", deaf)
        return engine.cancel("run-1"), current.cancelling()

    assert asyncio.run(run()) == (False, 0)
