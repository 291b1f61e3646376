"""What every engine must answer, whatever is behind it: to be subclassed with ``opened``."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from traced_loop import Loop, Policy, ScriptedModel, StopReason, UsageError, allow_when, tool
from traced_loop.engine import Engine
from traced_loop.events import Event, RunStarted
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring


def giving(text: str, done: list[str]) -> Callable[[], Awaitable[str]]:
    """A step that says when it is done."""

    async def do() -> str:
        done.append(text)
        return text

    return do


class EngineContract:
    """To be subclassed."""

    @pytest.fixture
    def opened(self, tmp_path: Any) -> Callable[[], Engine]:
        """Opens the engine; each time as a process that has just begun finds it."""
        raise NotImplementedError

    def test_a_step_gives_what_was_made(self, opened: Callable[[], Engine]) -> None:
        """As it was given, escapes and all."""
        done: list[str] = []
        made = asyncio.run(opened().step("run-1", "model.1", giving('{"a":"\\ud800"}', done)))
        assert (made, len(done)) == ('{"a":"\\ud800"}', 1)

    def test_what_was_kept_is_not_done_again(self, opened: Callable[[], Engine]) -> None:
        """By its run and its name, also for the next process; an engine that keeps nothing does it again."""
        done: list[str] = []

        async def step(run_id: str, name: str, text: str) -> str:
            return await opened().step(run_id, name, giving(text, done))

        first = asyncio.run(step("run-1", "model.1", "1"))
        again = asyncio.run(step("run-1", "model.1", "2"))
        others = [asyncio.run(step("run-1", "model.2", "3")), asyncio.run(step("run-2", "model.1", "4"))]
        keeps = opened().keeps_steps
        assert (first, again, others) == ("1", "1" if keeps else "2", ["3", "4"])
        assert done == (["1", "3", "4"] if keeps else ["1", "2", "3", "4"])

    def test_a_step_that_raises_is_as_if_it_had_not_been(self, opened: Callable[[], Engine]) -> None:
        """What it raised comes out as it is, cancellation too; then it is done."""
        for error in (ZeroDivisionError(), asyncio.CancelledError("why"), KeyboardInterrupt()):

            async def raises(error: BaseException = error) -> str:
                raise error

            async def caught(do: Callable[[], Awaitable[str]] = raises) -> BaseException | None:
                try:
                    await opened().step("run-1", "model.1", do)
                except BaseException as found:  # noqa: BLE001 - what is asked for
                    return found
                return None

            assert asyncio.run(caught()) is error
        assert asyncio.run(opened().step("run-1", "model.1", giving("1", []))) == "1"

    def test_a_body_is_run_with_its_task(self, opened: Callable[[], Engine]) -> None:
        """And what it raises is raised."""
        given: list[str] = []

        async def body(task: str) -> None:
            given.append(task)

        async def broken(_task: str) -> None:
            raise ZeroDivisionError

        asyncio.run(opened().start("run-1", "the task", body))
        assert given == ["the task"]
        with pytest.raises(ZeroDivisionError):
            asyncio.run(opened().start("run-2", "the task", broken))

    def test_a_run_that_nobody_started_cannot_be_resumed(self, opened: Callable[[], Engine]) -> None:
        """It is told, and nothing runs."""
        ran: list[str] = []

        async def body(task: str) -> None:
            ran.append(task)

        with pytest.raises(UsageError, match="run-9"):
            asyncio.run(opened().resume("run-9", body))
        assert ran == []

    def test_a_run_that_left_by_an_exception_is_resumed_with_its_task(self, opened: Callable[[], Engine]) -> None:
        """Where the engine keeps steps; and another task under its id is refused."""
        given: list[str] = []

        async def breaks(_task: str) -> None:
            raise ZeroDivisionError

        async def body(task: str) -> None:
            given.append(task)

        with pytest.raises(ZeroDivisionError):
            asyncio.run(opened().start("run-1", "the task", breaks))
        if not opened().keeps_steps:
            with pytest.raises(UsageError):
                asyncio.run(opened().resume("run-1", body))
            return
        with pytest.raises(UsageError, match="another task"):
            asyncio.run(opened().start("run-1", "another", body))
        asyncio.run(opened().resume("run-1", body))
        assert given == ["the task"]

    @pytest.mark.parametrize("in_loop", [False, True], ids=["run", "arun"])
    def test_a_run_that_is_cancelled_ends_with_what_it_had(self, opened: Callable[[], Engine], in_loop: bool) -> None:
        """From another thread, with every call answered; the task that waits for the run is not cancelled."""
        engine, spans, ids = opened(), Spans(), list[str]()

        def note(event: Event) -> None:
            ids.extend([event.run_id] if isinstance(event, RunStarted) else [])

        @tool(effect="read")
        async def look() -> str:
            """Look."""
            await asyncio.to_thread(engine.cancel, ids[0])
            return "seen"

        loop = Loop(
            ScriptedModel([calls(("look", {}), ("look", {})), "done"]),
            [look],
            policy=Policy(rules=[allow_when(effect="read")]),
            max_parallel=1,
            engine=engine,
            wiring=counted_wiring(spans),
            on_event=note,
        )

        async def run() -> Any:
            left = await loop.arun("Go.")
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            return left

        result = asyncio.run(run()) if in_loop else loop.run("Go.")
        assert (result.stop_reason, result.stop_detail) == (StopReason.CANCELLED, "Loop.cancel ended it")
        assert pairing_problems(result.messages) == []
        assert (spans.open, len(spans.named("chat"))) == ([], 1)
