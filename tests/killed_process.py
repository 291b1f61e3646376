"""A process that is killed at a chosen moment of its records, and what its program begins with.

SIGKILL comes at a tick: before or after a statement of the store, a write of a span, or an effect of a tool. A whole
run says how many there are, and each later one is killed at another of them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .nightly import examples
from .python_program import run_python

if TYPE_CHECKING:
    from pathlib import Path

PARTS = examples(4, 20)
"""Of ten points each."""

COUNTED = """
import json, os, signal, sqlite3
from traced_loop import tool

HOME = os.environ["TRACED_LOOP_HOME"]
left = None
real_write, real_connect = os.write, sqlite3.connect

def tick():
    global left
    if left is not None:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

def counted(function):
    def call(*given, **named):
        tick()
        try:
            return function(*given, **named)
        finally:
            tick()
    return call

class Connection(sqlite3.Connection):
    execute = counted(sqlite3.Connection.execute)
    executemany = counted(sqlite3.Connection.executemany)
    commit = counted(sqlite3.Connection.commit)

os.write = counted(real_write)
sqlite3.connect = lambda *given, **named: real_connect(*given, factory=Connection, **named)

def effect(name):
    descriptor = os.open("effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    tick()
    real_write(descriptor, (name + "\\n").encode())
    tick()
    os.close(descriptor)
    return name

@tool(effect="read")
def look(name: str) -> str:
    "Look."
    return name

@tool(effect="read")
async def look_later(name: str) -> str:
    "Look."
    return name

@tool(effect="write", key=lambda name: f"put:{name}")
def put(name: str) -> str:
    "Put."
    return effect(f"put {name}")

@tool(effect="write")
async def add(name: str) -> str:
    "Add."
    return effect(f"add {name}")

def effects():
    try:
        return open("effects").read().split("\\n")[:-1]
    except FileNotFoundError:
        return []

def in_child(act, at=None):
    "What it gives, and its exit code; it is killed at its at-th tick."
    global left
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            left = at
            given = act()
            ticks, left = 10**9 - (left or 0), None
            real_write(writes, json.dumps([given, ticks]).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as pipe:
        text = pipe.read()
    return os.waitpid(pid, 0)[1], json.loads(text) if text else (None, None)

def points(ticks):
    "Those of this part, spread over so many ticks."
    return sorted({1 + ticks * n // (10 * PARTS) for n in range(10 * PARTS)})[PART::PARTS]

os.mkdir(HOME, 0o700)
"""
"""The beginning of a program: two reads and two writes, and what kills a child of it."""


def told_by(program: str, part: int, folder: Path) -> list[dict[str, Any]]:
    """What a program that goes on after ``COUNTED`` prints for one part of the points: a line of JSON each."""
    ended = run_python(f"PART, PARTS = {part}, {PARTS}\n{COUNTED}{program}", folder / "store")
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]
