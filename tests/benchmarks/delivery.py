"""What delivery costs a run: its spans with no collector, a healthy, a slow and an absent one, as ratios of the first.

Usage: `python tests/benchmarks/delivery.py [ROUNDS]`. Each round is a process of its own for each collector, in turns,
so that a busy machine is busy for all of them. The figures are wall time, what of it a run spends in telemetry (which
the background delays where there are few processors), and what the exit takes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

RECEIVER = Path(__file__).parents[1] / "real" / "otlp_receiver.py"
RUNS = 60
WORK = f"""
import atexit, time
ended = []
atexit.register(lambda: print(time.monotonic() - ended[0]))
from traced_loop import Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="read")
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

def run():
    script = [calls(*(("add", {{"a": n, "b": 2}}) for n in range(6)))] * 4 + ["done"]
    return Loop(ScriptedModel(script), [add], repetition="observe").run("go").receipt

run()
spans = 0
wall, overhead = time.perf_counter(), 0.0
for _ in range({RUNS}):
    receipt = run()
    spans += receipt.spans_started
    overhead += receipt.overhead_ms
wall = time.perf_counter() - wall
print(spans, wall * 1e6 / spans, overhead * 1e3 / spans)
ended.append(time.monotonic())
"""


def measured(environment: dict[str, str]) -> tuple[float, float, float]:
    """Microseconds of wall time and of telemetry on the run's path, per span, and seconds of the exit."""
    with tempfile.TemporaryDirectory() as store:
        variables = {**os.environ, "TRACED_LOOP_HOME": f"{store}/s", **environment}
        command = [sys.executable, "-c", WORK]
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=300)
    _, wall, overhead, leaving = map(float, ended.stdout.split())
    return wall, overhead, leaving


def receivers(stack: ExitStack) -> dict[str, dict[str, str]]:
    """The variables for each collector; the one that is down has a port on which nobody listens."""
    found: dict[str, dict[str, str]] = {"none": {}}
    for name, behaviour in (("healthy", "accept"), ("slow", "slow"), ("down", "accept")):
        output = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "received.jsonl"
        process = subprocess.Popen(
            [sys.executable, RECEIVER, output, "--behaviour", behaviour], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["http_port"]
        found[name] = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{port}/v1/traces"}
        if name == "down":
            process.kill()
    return found


def main(rounds: int) -> None:
    """Measure in turns, and print medians."""
    figures: dict[str, list[tuple[float, float, float]]] = {}
    with ExitStack() as stack:
        collectors = receivers(stack)
        for _ in range(rounds):
            for name, environment in collectors.items():
                figures.setdefault(name, []).append(measured(environment))
    base: Any = None
    for name, rows in figures.items():
        wall, overhead, leaving = (statistics.median(column) for column in zip(*rows, strict=True))
        base = base or (wall, overhead)
        ratios = f"wall x{wall / base[0]:.2f}, telemetry x{overhead / base[1]:.2f}"
        sys.stdout.write(
            f"{name:<8} {wall:7.1f} us wall {overhead:7.1f} us telemetry per span  ({ratios})  exit {leaving:.2f} s\n"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
