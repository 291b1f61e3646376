"""The server `fakellm` (PyPI): rules by the turn of a conversation, Chat Completions only, streams without usage."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .child_process import running
from .foreign_servers import control, installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .foreign_servers import Line


def response(line: Line) -> dict[str, Any]:
    """A line as fakellm takes it."""
    if isinstance(line, str):
        return {"content": line}
    return {"tool_calls": [{"name": call.tool, "arguments": dict(call.arguments)} for call in line]}


@dataclass(frozen=True)
class Fakellm:
    """A running fakellm. It keeps counts, and no bodies."""

    url: str
    rules: Path
    model: str = "gpt-test"

    @property
    def base_url(self) -> str:
        """See ``ForeignServer.base_url``."""
        return f"{self.url}/v1"

    def answer(self, *lines: Line) -> None:
        """See ``ForeignServer.answer``."""
        self.respond(*map(response, lines))

    def respond(self, *responses: dict[str, Any]) -> None:
        """Answer the first turn with the first response, and so on; `status` and `error` make one fail."""
        rules = [{"name": f"turn-{n}", "when": {"turn": n}, "respond": each} for n, each in enumerate(responses, 1)]
        self.rules.write_text(json.dumps({"version": 1, "rules": rules}))  # JSON is YAML
        control(f"{self.url}/_fakellm/reload", {})
        control(f"{self.url}/_fakellm/reset", {})

    def received(self) -> None:
        """See ``ForeignServer.received``."""
        return


@contextmanager
def running_fakellm(folder: Path) -> Iterator[Fakellm]:
    """Serve on a free loopback port for the time of the block."""
    program, rules = installed("fakellm", "bin/fakellm"), folder / "rules.yaml"
    rules.write_text("version: 1\nrules: []\n")
    command = [program, "serve", "--host", "127.0.0.1", "--port", "0", "--config", rules]
    with running(command, folder / "fakellm.log") as child:
        yield Fakellm(child.wait_for_output(r"running on (http://\S+)")[1], rules)
