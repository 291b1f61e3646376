"""Runs cells, each in a fresh process, in another order in each repetition, and keeps what each said."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tests.benchmarks.step.cells import Cell
from tests.benchmarks.step.servers import Sink, running_model, running_sink

AGENT = Path(__file__).with_name("agent.py")
LIMIT_SECONDS = 300
OURS_ALONE = """
import sys, time
began = time.process_time()
from traced_loop import Budget, Loop, OpenAIModel, tool
print((time.process_time() - began) * 1e3, int("openai" in sys.modules))
"""

Row = dict[str, Any]


def measure(cells: Sequence[Cell], number: int, told: Callable[[str], None]) -> list[Row]:
    """One repetition of every cell: its key, and figures or an error. Repetitions are counted from 0."""
    todo = [cell for cell in cells if number == 0 or not cell.once]
    random.shuffle(todo)
    rows: list[Row] = [{"key": "import", **imported()}]
    with running_model() as model, running_sink() as sink:
        for place, cell in enumerate(todo):
            found = one(cell, model, sink)
            rows.append({"key": cell.key, "cell": asdict(cell), **found})
            said = found.get("error") or f"{found['cpu_ms']:.2f} ms of CPU a step"
            told(f"[{number + 1}: {place + 1}/{len(todo)}] {cell.key}: {said}")
    return rows


def imported() -> Row:
    """CPU of what a user imports, in a process that has imported nothing else."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", OURS_ALONE], capture_output=True, text=True, check=True, timeout=60, env=_plain()
    )
    cpu, openai = ended.stdout.split()
    return {"import_cpu_ms": float(cpu), "openai_imported": bool(int(openai))}


def one(cell: Cell, model: str, sink: Sink) -> Row:
    """Run a cell, and account for its spans."""
    with tempfile.TemporaryDirectory() as folder:
        sink.forget()
        traces = sink.behave(cell.collector)
        choice = replace(cell.choice, model_url=model, traces=traces, folder=f"{folder}/store")
        found = _process(json.dumps(asdict(choice)))
        if "error" in found:
            return found
        found["sink"] = sink.counted()
        if cell.collector != "healthy":
            sink.behave("healthy")
            if choice.agent == "ours":
                found |= _delivered(choice.folder, sink, everything=cell.collector == "down")
            found["sink"] = sink.counted()
        found["lost"] = found["spans"] - found["sink"]["unique"]
        return found


def _process(choice: str) -> Row:
    command = [sys.executable, str(AGENT), choice]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS, env=_plain()
        )
    except subprocess.TimeoutExpired:
        return {"error": f"has not ended after {LIMIT_SECONDS} s"}
    now = time.monotonic()
    said = ended.stdout.strip().splitlines()
    if ended.returncode or not said:
        return {"error": (ended.stderr.strip() or "said nothing")[-600:]}
    found: Row = json.loads(said[-1])
    return {**found, "exit_s": now - found.pop("work_ended")}


def _delivered(store: str, sink: Sink, *, everything: bool) -> Row:
    """Send what the store still owes, as a person would; the collector's address is a new one after it was down."""
    program = str(Path(sys.executable).with_name("traced-loop"))
    command = [program, "deliver", "--otlp", f"{sink.url}/v1/traces", "--store", store]
    ended = subprocess.run(
        command + ["--all"] * everything, capture_output=True, text=True, check=False, timeout=120, env=_plain()
    )
    return {"delivery_exit": ended.returncode, "delivery_said": (ended.stdout + ended.stderr).strip()[-300:]}


def _plain() -> dict[str, str]:
    """Without what the environment would change: keys, exporters, stores; and where users have bytecode, it is had."""
    ours = ("OPENAI_", "OTEL_", "TRACED_LOOP_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
