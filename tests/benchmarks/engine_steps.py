"""What the engine port costs a run: ``python -m tests.benchmarks.engine_steps``.

Bars: under the embedded engine the steps of a run take 2 % of it at most. What keeping them costs beside that is told:
their texts are made, and kept by an engine that does nothing with them.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from traced_loop import Budget, Loop, ScriptedModel, tool
from traced_loop.loop.embedded_engine import EmbeddedEngine
from traced_loop.loop.engine_steps import EngineSteps
from traced_loop.testing import Spans, calls, counted_wiring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from traced_loop.engine import Engine

STEPS = 50
ROUNDS = 15
BAR = 0.02


class Keeping(EmbeddedEngine):
    """Has the texts made, and drops them."""

    keeps_steps = True


@tool(effect="read")
async def look(number: int) -> str:
    """Look."""
    return f"{number}: {'x' * 200}"


def run_of(engine: Engine) -> float:
    """CPU seconds of a run with a request and a call in each step."""
    script: list[Any] = [*[calls(("look", {"number": n})) for n in range(STEPS)], "done"]
    loop = Loop(
        ScriptedModel(script),
        [look],
        budget=Budget(steps=STEPS + 1, tool_calls=STEPS, tokens=None),
        repetition="observe",
        engine=engine,
        wiring=counted_wiring(Spans()),
    )
    began = time.process_time()
    result = loop.run("Go.")
    seconds = time.process_time() - began
    assert result.answer == "done"
    return seconds


async def alone() -> float:
    """Seconds of as many steps as that run has, with nothing in them, beyond awaiting the same directly."""
    steps = EngineSteps(EmbeddedEngine(), counted_wiring(Spans()).telemetry)
    state: Any = _State()
    asked: Any = object()

    async def nothing() -> Any:
        return asked

    async def timed(act: Callable[[int], Awaitable[Any]]) -> float:
        began = time.process_time()
        for number in range(2 * STEPS + 1):
            await act(number)
        return time.process_time() - began

    through = await timed(lambda number: steps.model(state, f"model.{number}", nothing))
    return through - await timed(lambda _number: nothing())


class _State:
    """As much of a run's state as an embedded step asks for."""

    run_id = "run-1"


def main() -> int:
    """Measure, print, and compare with the bar."""
    embedded = min(run_of(EmbeddedEngine()) for _ in range(ROUNDS))
    keeping = min(run_of(Keeping()) for _ in range(ROUNDS))
    port = min(asyncio.run(alone()) for _ in range(ROUNDS))
    say = sys.stdout.write
    say(f"a step of a run     {embedded / STEPS * 1e6:.0f} us\n")
    say(f"the port            {port / embedded:.4f} of the run  (bar {BAR})\n")
    say(f"with texts kept     {keeping / embedded:.2f} of the run without\n")
    return 0 if port / embedded <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
