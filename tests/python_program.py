"""Python programs that a test writes and runs in a process of their own: exits, forks, kills, global state."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .hangs import WITHIN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE_CALL = """
from traced_loop import Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="read")
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

def one_call(**options):
    "Fourteen spans: one call of a tool, and the answer."
    return Loop(ScriptedModel([calls(("add", {"a": 1, "b": 2})), "3"]), [add], **options).run("1 + 2?")
"""
"""The beginning of a program that runs a loop: ``one_call()``."""


@dataclass(frozen=True)
class Ended:
    """What a program left."""

    code: int
    out: str
    err: str

    @property
    def err_lines(self) -> list[str]:
        """Stderr, line by line."""
        return self.err.splitlines()


def environment(store: Path, **variables: str) -> dict[str, str]:
    """This process's variables without those that change what is tested, and the given ones."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "OPENAI_", "TRACED_LOOP_", "COV_CORE"))}
    return {**kept, "TRACED_LOOP_HOME": str(store), **variables}


def run_python(code: str, store: Path, *, within: float = WITHIN, **variables: str) -> Ended:
    """Run a program to its end, which takes so many seconds at most."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(store, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=within,
        cwd=store.parent,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@contextmanager
def running_python(code: str, store: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program for the time of the block; it is killed when that ends."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    env = environment(store, **variables)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, cwd=store.parent) as program:
        try:
            yield program
        finally:
            program.kill()
