"""What metrics cost a step: `python tests/benchmarks/metrics.py`. Ratios of processor time, metrics on to off.

A step is one scripted request with one call, its spans recorded in a local store as usual; the time of the model and
of the tool is next to nothing, so the ratio is that of the loop's own work.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from traced_loop import Budget, Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.setup import Wiring
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.metrics import RunMetrics
from traced_loop.telemetry.spans import Telemetry

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS, ROUNDS = 50, 15


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def run(wiring: Wiring) -> float:
    """Processor seconds of one step."""
    script = [*(calls(("add", {"a": n, "b": 1})) for n in range(STEPS)), "done"]
    loop = Loop(ScriptedModel(script), [add], wiring=wiring, budget=Budget(steps=None, tool_calls=None, tokens=None))
    began = time.process_time()
    loop.run("Go.")
    return (time.process_time() - began) / STEPS


def wiring(folder: Path, metrics: RunMetrics | None) -> Wiring:
    """A loop's connection to a store."""
    telemetry = Telemetry(sink=TraceStore(Store.open(folder), {}), metrics=metrics)
    return Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"a key for benchmarks"))


def main() -> None:
    """Print the ratio of medians, and what a collection of the metrics takes."""
    with tempfile.TemporaryDirectory() as folder:
        reader = InMemoryMetricReader()
        provider = MeterProvider([reader], exemplar_filter=AlwaysOffExemplarFilter(), shutdown_on_exit=False)
        off = wiring(Path(folder) / "off", None)
        on = wiring(Path(folder) / "on", RunMetrics(provider.get_meter("traced_loop")))
        times: dict[str, list[float]] = {"off": [], "on": []}
        for _ in range(ROUNDS):
            times["off"].append(run(off))
            times["on"].append(run(on))
        middle = {name: statistics.median(found) for name, found in times.items()}
        least = {name: min(found) for name, found in times.items()}
        collected = least_time(reader.get_metrics_data)
    lines = [
        f"a step with metrics to one without: {middle['on'] / middle['off']:.2f} (medians),"
        f" {least['on'] / least['off']:.2f} (minima)",
        f"{(least['on'] - least['off']) * 1e6:.0f} µs a step; {collected * 1e3:.1f} ms a collection",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def least_time(act: Callable[[], object]) -> float:
    """Processor seconds of the quickest of ten."""
    found: list[float] = []
    for _ in range(10):
        began = time.process_time()
        act()
        found.append(time.process_time() - began)
    return min(found)


if __name__ == "__main__":
    main()
