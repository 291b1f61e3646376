"""The server `@dwmkerr/mock-llm` (npm): answers with any JSON that it is given, under any status."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .aimock import find_node
from .child_process import running
from .foreign_servers import control, free_port, installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .foreign_servers import Api, Line


def chat_body(line: Line) -> dict[str, Any]:
    """A line as a whole answer of Chat Completions."""
    message: dict[str, Any] = {"role": "assistant", "content": line}
    if not isinstance(line, str):
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": call.tool, "arguments": call.text}}
            for n, call in enumerate(line)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    finish = "stop" if isinstance(line, str) else "tool_calls"
    return {
        "id": "chatcmpl-{{timestamp}}",
        "object": "chat.completion",
        "created": 1,
        "model": "{{jmes request body.model}}",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def responses_body(line: Line) -> dict[str, Any]:
    """A line as a whole answer of Responses."""
    if isinstance(line, str):
        part = {"type": "output_text", "text": line, "annotations": []}
        output: list[Any] = [{"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}]
    else:
        output = [
            {
                "type": "function_call",
                "id": f"fc_{n}",
                "call_id": f"call_{n}",
                "name": call.tool,
                "arguments": call.text,
            }
            for n, call in enumerate(line)
        ]
    return {
        "id": "resp_{{timestamp}}",
        "object": "response",
        "status": "completed",
        "model": "{{jmes request body.model}}",
        "output": [{"status": "completed", **item} for item in output],
        "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
    }


@dataclass(frozen=True)
class MockLlm:
    """A running mock-llm. It keeps no bodies."""

    url: str
    model: str = "gpt-test"

    @property
    def base_url(self) -> str:
        """See ``ForeignServer.base_url``."""
        return f"{self.url}/v1"

    def answer(self, *lines: Line) -> None:
        """See ``ForeignServer.answer``."""
        self.send("chat", [(200, chat_body(line)) for line in lines])
        self._add("responses", [(200, responses_body(line)) for line in lines])

    def send(self, api: Api, answers: Sequence[tuple[int, Any]]) -> None:
        """Answer the first request of that API with the first status and JSON, and so on."""
        control(f"{self.url}/config", method="DELETE")
        control(f"{self.url}/config", {"rules": [], "streaming": {"chunkSize": 6, "chunkIntervalMs": 1}}, method="POST")
        self._add(api, answers)

    def received(self) -> None:
        """See ``ForeignServer.received``."""
        return

    def _add(self, api: Api, answers: Sequence[tuple[int, Any]]) -> None:
        path = "/v1/chat/completions" if api == "chat" else "/v1/responses"
        rules = control(f"{self.url}/config")["rules"]
        for number, (status, body) in enumerate(answers):
            response = {"status": status, "content": json.dumps(body)}
            rules.append({"path": path, "method": "POST", "sequence": number, "response": response})
        control(f"{self.url}/config", {"rules": rules}, method="PATCH")


@contextmanager
def running_mock_llm(folder: Path) -> Iterator[MockLlm]:
    """Serve on a free loopback port for the time of the block."""
    program = installed("mock-llm", "node_modules/@dwmkerr/mock-llm/dist/main.js")
    port = free_port()
    environment = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port)}
    with running([find_node(), program], folder / "mock-llm.log", environment=environment) as child:
        child.wait_for_output(r"server running on ")
        yield MockLlm(f"http://127.0.0.1:{port}")
