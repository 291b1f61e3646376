"""MCP servers of these tests: how to start them, and what they saw."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traced_loop import Loop, McpServer, Policy, ScriptedModel, allow_when
from traced_loop.testing import Played, Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool

from ..hangs import WITHIN
from ..real.child_process import ChildProcess, running

HERE = Path(__file__).parent
ODD, RAW = str(HERE / "odd_server.py"), str(HERE / "raw_server.py")
WRITES = Policy(rules=[allow_when(effect="write")])


class Log:
    """What a server wrote down."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log"
        self.path.touch()

    def entries(self, what: str | None = None) -> list[dict[str, Any]]:
        """Its lines, all or those of one kind."""
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        return [line for line in lines if what is None or what in (line.get("what"), line.get("method"))]

    def wait_for(self, what: str, *, within: float = WITHIN) -> dict[str, Any]:
        """The first line of a kind; another process writes it when it is ready."""
        ends = time.monotonic() + within
        while not (found := self.entries(what)):
            assert time.monotonic() < ends, f"no {what!r} in {self.entries()}"
            time.sleep(0.01)
        return found[0]


def odd(log: Log, **options: Any) -> McpServer:
    """The SDK's server as a child."""
    return McpServer.stdio(sys.executable, ODD, str(log.path), "stdio", **options)


def raw(log: Log, fault: str, **options: Any) -> McpServer:
    """The server without the SDK as a child."""
    return McpServer.stdio(sys.executable, RAW, str(log.path), fault, **options)


@contextmanager
def served(log: Log, *more: str) -> Iterator[tuple[str, ChildProcess]]:
    """The SDK's server at an address of loopback."""
    with running([sys.executable, ODD, str(log.path), "http", *more], log.path.parent / "output") as process:
        port = process.wait_for_output(r"port (\d+)", within=60)[1]
        yield f"http://127.0.0.1:{port}/mcp", process


def one(server: McpServer, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Played:
    """A run in which the model calls one tool of the server; writes are allowed."""
    return run(server.tools(), (name, arguments or {}), **options)


def run(tools: list[Any], *proposed: tuple[str, Any], **options: Any) -> Played:
    """A run in which the model proposes one call after another."""
    model = ScriptedModel([*(calls(each) for each in proposed), "done"])
    spans = Spans()
    given: list[Tool] = [*tools]
    loop = Loop(model, given, wiring=counted_wiring(spans), **{"policy": WRITES, "store": None, **options})
    return Played(result=loop.run("Go."), spans=spans, model=model)


def told(played: Played, number: int = 0) -> dict[str, Any]:
    """What the model was told of a call."""
    said = [json.loads(message["content"]) for message in played.result.messages if message["role"] == "tool"]
    found: dict[str, Any] = said[number]
    return found


def executed(played: Played) -> dict[str, Any]:
    """Attributes of the first execution."""
    return dict(played.spans.named("execute_tool")[0].attributes)


def gone(pid: int) -> bool:
    """Whether a process ends, which takes a moment after it was killed."""
    ends = time.monotonic() + WITHIN
    while alive(pid) and time.monotonic() < ends:
        time.sleep(0.01)
    return not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has asked after its end has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
