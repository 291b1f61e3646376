"""Tools that run in a process of their own; these can be imported there."""

import asyncio
import atexit
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.context import get_current

from traced_loop import NotApplied, ToolError, tool
from traced_loop.telemetry.spans import run_id_in


class Size(Enum):
    """A size."""

    SMALL = "small"


class Demanding(Exception):
    """An error that needs more than its text to be made."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)


@tool(effect="read", isolate="process")
def where(a: int, size: Size = Size.SMALL) -> dict[str, Any]:
    """Tell where it runs."""
    sys.stdout.write("noise")
    os.write(2, b"noise")
    context = trace.get_current_span().get_span_context()
    return {
        "pid": os.getpid(),
        "sum": a + 1,
        "size": size.name,
        "trace": f"{context.trace_id:032x}",
        "span": f"{context.span_id:016x}",
        "variable": os.environ["TRACEPARENT"],
        "run": run_id_in(get_current()),
    }


@tool(effect="read", isolate="process")
async def later(a: int) -> int:
    """Add, in async code."""
    await asyncio.sleep(0)
    return a + 1


@tool(effect="read", isolate="process")
def lines() -> Iterator[int]:
    """Give one after the other."""
    yield 1
    yield 2


@tool(effect="read", isolate="process")
def fail(kind: str) -> None:
    """Fail."""
    errors: dict[str, BaseException] = {
        "value": ValueError("no"),
        "busy": ToolError("ask later", transient=True),
        "demanding": Demanding("a", "b"),
        "exit": SystemExit(3),
    }
    raise errors[kind]


def crash() -> None:
    """Crash."""
    ctypes.string_at(0)


read_crash = tool(effect="read", isolate="process", name="crash")(crash)


@tool(effect="write", isolate="process")
def write_crash() -> None:
    """End the process in the middle."""
    os._exit(7)


@tool(effect="write", isolate="process", key=lambda: "key-1")
def refuse(*, idempotency_key: str) -> None:
    """Change nothing."""
    raise NotApplied(idempotency_key)


@tool(effect="read", isolate="process", timeout=2.5)
def hold(path: str) -> None:
    """Hold the interpreter lock, with a child; tells their numbers first."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    new = Path(f"{path}.new")
    new.write_text(f"{os.getpid()} {child.pid}")
    new.rename(path)
    ctypes.PyDLL(None).usleep.restype = None
    while True:
        ctypes.PyDLL(None).usleep(999_999)  # with the lock held


@tool(effect="read", isolate="process")
def late_exit(path: str) -> str:
    """Clean up after the result."""
    atexit.register(Path(path).touch)
    return "done"
