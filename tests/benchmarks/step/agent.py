"""One agent in this process, by itself: `python agent.py CHOICE`, a `Choice` as JSON. Prints what it cost as JSON.

CPU is processor time of all threads from the first measured run until everything that leaves the process at its
ordinary exit has left it, so that an exporter in the background counts for whoever has one.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[3]))

from tests.benchmarks.step.agent_choice import Choice

if TYPE_CHECKING:
    from tests.benchmarks.step.agent_choice import Agent

ANSWER = "Both parcels are on their way."

figures: dict[str, Any] = {}
marks: dict[str, float] = {}


def last_words() -> None:
    """What the whole process came to, its exporters' end included."""
    if "steps" not in figures:
        return
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    cpu, closed = time.process_time() - marks["cpu"], time.monotonic() - figures["work_ended"]
    whole = {"cpu_ms": 1e3 * cpu / figures["steps"], "peak_mb": peak / 1024, "closed_s": closed}
    print(json.dumps({**figures, **whole}), flush=True)


def run_threads(agent: Agent, runs: int, at_once: int) -> list[str]:
    """Synchronous runs, in as many threads as there are at once."""
    if at_once == 1:
        return [agent.run() for _ in range(runs)]
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda _: agent.run(), range(runs)))


async def run_tasks(agent: Agent, runs: int, at_once: int) -> list[str]:
    """Asynchronous runs, in as many tasks."""
    left = iter(range(runs))

    async def worker() -> list[str]:
        return [await agent.arun() for _ in left]

    return [text for said in await asyncio.gather(*(worker() for _ in range(at_once))) for text in said]


def begin() -> None:
    """The measured part begins."""
    marks.update(wall=time.perf_counter(), cpu=time.process_time())


def ended(choice: Choice, agent: Agent, said: list[str], warm: int) -> None:
    """It has ended, but for the exit."""
    wall, cpu = time.perf_counter() - marks["wall"], time.process_time() - marks["cpu"]
    if said != [ANSWER] * choice.runs:
        raise SystemExit(f"wrong answers: {set(said)}")
    steps, of_run = choice.runs * (choice.rounds + 1), choice.rounds + 1
    figures.update(
        steps=steps,
        all_steps=(choice.runs + warm) * of_run,
        spans=agent.spans(),
        wall_ms=1e3 * wall / steps,
        steps_per_s=steps / wall,
        loop_cpu_ms=1e3 * cpu / steps,
        work_ended=time.monotonic(),
    )


async def measure_async(choice: Choice, agent: Agent, warm: int) -> None:
    """On one event loop, so that connections last."""
    await run_tasks(agent, 1, 1)
    ready()
    await run_tasks(agent, warm, choice.at_once)
    begin()
    ended(choice, agent, await run_tasks(agent, choice.runs, choice.at_once), warm + 1)


def ready() -> None:
    """A first run has been answered, so everything is loaded and connected."""
    figures["ready_cpu_ms"] = 1e3 * time.process_time()


def main() -> None:
    """Import, run once, warm up, measure; the exit says the rest."""
    # What is registered first is called last, so this is after all exporters have closed.
    atexit.register(last_words)
    choice = Choice(**json.loads(sys.argv[1]))
    began = time.process_time()
    module = importlib.import_module(
        "tests.benchmarks.step." + ("agent_of_ours" if choice.agent == "ours" else "agents_by_hand")
    )
    figures["import_cpu_ms"] = 1e3 * (time.process_time() - began)
    figures["openai_imported"] = "openai" in sys.modules
    agent, warm = module.made(choice), max(2, choice.at_once) if choice.rounds < 100 else 0
    if choice.form == "async":
        asyncio.run(measure_async(choice, agent, warm))
    else:
        run_threads(agent, 1, 1)
        ready()
        run_threads(agent, warm, choice.at_once)
        begin()
        ended(choice, agent, run_threads(agent, choice.runs, choice.at_once), warm + 1)


if __name__ == "__main__":
    main()
