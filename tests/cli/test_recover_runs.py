"""``recover`` as a program, over runs of processes that were killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ..python_program import run_python, running_python

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-c", "from traced_loop.cli import main; main()"]
KILLED = """
import os, signal
from traced_loop import Loop, Policy, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="write")
def pay() -> str:
    "Pay."
    os.kill(os.getpid(), signal.SIGKILL)

Loop(ScriptedModel([calls(("pay", {})), "done"]), [pay], policy=Policy(confirm=lambda _: True)).run("go")
"""
WAITING = """
import time
from traced_loop import Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="read")
def wait() -> str:
    "Wait."
    print("inside", flush=True)
    time.sleep(60)

Loop(ScriptedModel([calls(("wait", {})), "done"]), [wait]).run("go")
"""


def traced_loop(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)


def test_a_killed_run_is_ended_and_the_unknown_write_is_named(tmp_path: Path) -> None:
    """The run then shows as any other, with why it stopped."""
    assert run_python(KILLED, tmp_path).code == -signal.SIGKILL

    done = traced_loop("recover", "--store", tmp_path)

    first, second = done.stdout.splitlines()
    run_id = first.split()[0]
    assert (done.returncode, done.stderr.splitlines()) == (
        0,
        [f"when you know what came of it: traced-loop resolve {run_id} call_1 --done, or --not-done"],
    )
    assert first.endswith("died in execute_tool pay (call_1)  3 spans ended")
    assert second == "  the write call_1 may have been applied: find out before it is run again"
    shown = traced_loop("show", "last", "--store", tmp_path).stdout
    assert "stopped    unknown_after_crash: its process ended in execute_tool pay (call_1)" in shown
    assert "unknown    execute_tool pay (call_1) may have been applied" in shown
    assert traced_loop("conform", "last", "--store", tmp_path).returncode == 0


@pytest.mark.parametrize("came", ["--done", "--not-done"])
def test_a_write_of_which_a_person_has_said_what_came_of_it_is_not_asked_about(tmp_path: Path, came: str) -> None:
    """They may have looked before the run was ended."""
    run_python(KILLED, tmp_path)
    assert traced_loop("resolve", "last", "call_1", came, "--store", tmp_path).returncode == 0

    done = traced_loop("recover", "--store", tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "may have been applied" not in done.stdout


def test_json_is_one_object_a_run(tmp_path: Path) -> None:
    """The same words for programs."""
    run_python(KILLED, tmp_path)

    [line] = traced_loop("recover", "--json", "--store", tmp_path).stdout.splitlines()

    found = json.loads(line)
    assert found == {
        "run_id": found["run_id"],
        "doing": "execute_tool pay (call_1)",
        "spans": 3,
        "unknown_calls": ["call_1"],
    }


def test_a_run_that_lives_is_left_alone(tmp_path: Path) -> None:
    """Neither when all are asked for nor by its name, whatever is said of it."""
    with running_python(WAITING, tmp_path) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "inside\n"

        everything = traced_loop("recover", "--store", tmp_path)
        named = traced_loop("recover", "last", "--dead", "--store", tmp_path)

    assert (everything.returncode, everything.stdout) == (0, "")
    assert "nothing to recover" in everything.stderr
    assert (named.returncode, named.stdout) == (2, "")
    assert "still runs: end its process first" in named.stderr


def test_a_run_that_has_ended_is_said_to_have_ended(tmp_path: Path) -> None:
    """Also one that was recovered just now."""
    run_python(KILLED, tmp_path)
    traced_loop("recover", "--store", tmp_path)

    done = traced_loop("recover", "last", "--store", tmp_path)

    assert done.returncode == 2
    assert "has ended: there is nothing to recover" in done.stderr


def test_a_run_of_which_nothing_is_known_is_ended_when_a_person_says_that_it_is_dead(tmp_path: Path) -> None:
    """The index is gone, and with it the process that wrote the run."""
    run_python(KILLED, tmp_path)
    for path in tmp_path.glob("store.db*"):
        path.unlink()

    refused = traced_loop("recover", "last", "--store", tmp_path)
    done = traced_loop("recover", "last", "--dead", "--store", tmp_path)

    assert refused.returncode == 2
    assert "say so with --dead" in refused.stderr
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)


def test_dead_without_a_run_is_refused(tmp_path: Path) -> None:
    """It is a statement about runs that are named."""
    done = traced_loop("recover", "--dead", "--store", tmp_path)

    assert (done.returncode, done.stderr) == (
        2,
        "traced-loop: --dead is about runs that you name: traced-loop recover RUN --dead\n",
    )
