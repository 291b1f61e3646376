"""The server `llmock` (PyPI): scripted answers and faults, and its own verdict on the client that met them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .child_process import running
from .foreign_servers import control, installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .foreign_servers import Line


def behaviour(line: Line) -> dict[str, Any]:
    """A line as llmock takes it."""
    if isinstance(line, str):
        return {"type": "reply", "text": line}
    calls = [{"name": call.tool, "arguments": dict(call.arguments)} for call in line]
    return {"type": "reply", "tool_calls": calls}


@dataclass(frozen=True)
class Llmock:
    """A running llmock."""

    url: str
    model: str = "gpt-test"

    @property
    def base_url(self) -> str:
        """See ``ForeignServer.base_url``."""
        return f"{self.url}/v1"

    def answer(self, *lines: Line) -> None:
        """See ``ForeignServer.answer``."""
        self.behave(*map(behaviour, lines))

    def behave(self, *behaviours: dict[str, Any]) -> None:
        """Like ``answer``, with faults: each request takes the first of each kind that is left."""
        control(f"{self.url}/_llmock/reset", {})
        control(f"{self.url}/_llmock/scenario", {"behaviors": behaviours})

    def requests(self) -> list[dict[str, Any]]:
        """What it saw, with times, statuses and faults."""
        seen: list[dict[str, Any]] = control(f"{self.url}/_llmock/requests")["requests"]
        return seen

    def received(self) -> list[Any]:
        """See ``ForeignServer.received``."""
        return [request["body"] for request in self.requests()]

    def errors(self) -> list[str]:
        """What it holds against the client, by code: waits cut short, refusals tried again, halves taken for wholes."""
        findings = control(f"{self.url}/_llmock/verdict")["findings"]
        return [finding["code"] for finding in findings if finding["severity"] == "error"]


def fails(status: int, **more: Any) -> dict[str, Any]:
    """A request that fails; `retry_after`, `message`, `code`, `times`."""
    return {"type": "fail", "status": status, **more}


def breaks(kind: str, after: int, **more: Any) -> dict[str, Any]:
    """A stream that breaks after so many chunks: `disconnect`, `truncate`, `stall`, `malformed`."""
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, **more}


@contextmanager
def running_llmock(folder: Path) -> Iterator[Llmock]:
    """Serve on a free loopback port for the time of the block."""
    program = installed("llmock", "bin/llmock")
    command = [program, "serve", "--host", "127.0.0.1", "--port", "0", "--tool-mode", "off"]
    with running(command, folder / "llmock.log") as child:
        yield Llmock(child.wait_for_output(r"running on (http://\S+)")[1])
