"""What hangs for ever cannot outlive the run's deadline, and does not hold the process when that ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from traced_loop.records.process_identity import process_identity

from ..hangs import WITHIN

DEADLINE = 1.5
"""Seconds; how soon after them a run answers and its process ends is what benchmarks/deadlines.py measures."""

TOOLS = '''
import asyncio, ctypes, json, os, pathlib, subprocess, sys, threading, time
from traced_loop import Budget, Cancellation, Loop, Policy, ScriptedModel, tool
from traced_loop.testing import calls

def children(*pids):
    new = pathlib.Path("pids.new")
    new.write_text(" ".join(map(str, pids)))
    new.rename("pids")

@tool(effect="read")
def sync_hangs() -> None:
    """Hang."""
    threading.Event().wait()

@tool(effect="read")
async def clings() -> None:
    """Swallow every cancellation."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue

@tool(effect="read", isolate="process")
def holds_the_lock() -> None:
    """Hold the interpreter lock, with a child."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    children(os.getpid(), child.pid)
    while True:
        ctypes.PyDLL(None).usleep(999_999)

@tool(effect="read")
def waits_for_a_process(cancellation: Cancellation) -> None:
    """Wait for a process with a child that both hang."""
    code = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    code += "; print(p.pid, flush=True); p.wait()"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    cancellation.ends(process)
    children(process.pid, int(process.stdout.readline()))
    process.wait()

async def never(_request):
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue
'''

RUN = """
import asyncio, json, sys, time
from hanging import *

name, how = sys.argv[1:]
script = [never] if name == "model" else [calls((name, {}))]
tools = [] if name == "model" else [globals()[name]]
loop = Loop(ScriptedModel(script), tools, budget=Budget(seconds=DEADLINE), store=None)
began = time.monotonic()
result = loop.run("Go.") if how == "run" else asyncio.run(loop.arun("Go."))
took = time.monotonic() - began
print(json.dumps([result.stop_reason, took, result.abandoned]), flush=True)
"""


@pytest.mark.parametrize("how", ["run", "arun"])
@pytest.mark.parametrize(
    ("name", "abandoned"),
    [
        ("sync_hangs", ["sync_hangs"]),
        ("clings", ["clings"]),
        ("holds_the_lock", []),
        ("waits_for_a_process", []),
        ("model", []),
    ],
)
def test_the_run_answers_and_the_process_ends(tmp_path: Path, name: str, abandoned: list[str], how: str) -> None:
    """The answer comes soon after the deadline, the process is gone soon after that, and so is all that it started."""
    (tmp_path / "hanging.py").write_text(TOOLS)
    code = RUN.replace("DEADLINE", str(DEADLINE))
    command = [sys.executable, "-c", code, name, how]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        _, err = program.communicate(timeout=WITHIN)

    assert (program.returncode, err) == (0, "")
    reason, took, left = json.loads(line)
    assert (reason, left) == ("deadline_exceeded", abandoned)
    assert took < DEADLINE + WITHIN
    assert not alive(tmp_path)


ENDLESS = """
from hanging import *

Loop(ScriptedModel([calls(("holds_the_lock", {}))]), [holds_the_lock], store=None).run("Go.")
"""


def test_an_isolated_tool_does_not_outlive_a_killed_process(tmp_path: Path) -> None:
    """Not even where it holds its interpreter lock, and its children do not either."""
    (tmp_path / "hanging.py").write_text(TOOLS)
    with subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=tmp_path) as program:
        ends = time.monotonic() + WITHIN
        while not (tmp_path / "pids").exists() and time.monotonic() < ends:
            os.sched_yield()
        assert len(alive(tmp_path)) == 2
        program.kill()

    ends = time.monotonic() + WITHIN
    while alive(tmp_path) and time.monotonic() < ends:
        os.sched_yield()
    assert not alive(tmp_path)


def alive(folder: Path) -> list[int]:
    """Which of the processes that a tool noted still run."""
    noted = folder / "pids"
    pids = [int(pid) for pid in noted.read_text().split()] if noted.exists() else []
    return [pid for pid in pids if process_identity(pid) is not None]
