"""A server at an address: refusals, failures, forgotten sessions and answers without end, over a real socket."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from traced_loop import McpServer, StopReason, UsageError
from traced_loop.mcp_tools.transport import MAX_MESSAGE_BYTES

from .servers import executed, one, run, told

TOOL = {"name": "look", "inputSchema": {"type": "object"}}


@dataclass
class Fake:
    """An MCP server of the older protocol, that answers calls as a test wants it."""

    calls: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    sessions: int = 0
    refuse_all: int = 0
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    state: Fake

    def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.reply(405, {}, b"")

    def do_DELETE(self) -> None:
        self.reply(200, {}, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.state.refuse_all:
            self.reply(self.state.refuse_all, {}, b"no")
        elif "id" not in message:
            self.reply(202, {}, b"")
        elif message["method"] == "tools/call" and self.state.calls:
            self.reply(*self.state.calls.pop(0))
        else:
            self.reply(200, *self.answer(message))

    def answer(self, message: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        """Headers and body."""
        headers = {"content-type": "application/json"}
        found: dict[str, Any] = {"error": {"code": -32601, "message": "no such method"}}
        if message["method"] == "initialize":
            self.state.sessions += 1
            headers["mcp-session-id"] = f"session-{self.state.sessions}"
            about = {"serverInfo": {"name": "fake", "version": "0"}, "capabilities": {"tools": {}}}
            found = {"result": {"protocolVersion": "2025-06-18", **about}}
        elif message["method"] == "tools/list":
            found = {"result": {"tools": [TOOL]}}
        elif message["method"] == "tools/call":
            found = {"result": {"content": [{"type": "text", "text": "seen"}]}}
        return headers, json.dumps({"jsonrpc": "2.0", "id": message["id"], **found}).encode()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def fake(*calls: tuple[int, dict[str, str], bytes], refuse_all: int = 0) -> Iterator[Fake]:
    """Serve; calls of a tool are answered with these responses, then with a result."""
    state = Fake(calls=list(calls), refuse_all=refuse_all)
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Of", (Handler,), {"state": state})) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def json_body(body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """A response of JSON."""
    return 200, {"content-type": "application/json", **headers}, body


@pytest.mark.parametrize(
    ("status", "stop"),
    [
        (401, StopReason.FINAL_ANSWER),
        (403, StopReason.FINAL_ANSWER),
        (429, StopReason.FINAL_ANSWER),
        (500, StopReason.OUTCOME_UNKNOWN),
        (504, StopReason.OUTCOME_UNKNOWN),
    ],
)
def test_a_write_that_was_refused_has_not_happened_and_one_that_failed_may_have(status: int, stop: StopReason) -> None:
    """By the status of the response."""
    with fake((status, {}, b"no")) as state, McpServer.http(state.url) as server:
        played = one(server, "look")

    assert played.result.stop_reason is stop
    if stop is StopReason.FINAL_ANSWER:
        assert f"HTTP {status}" in told(played)["message"]


def test_a_session_that_the_server_forgot_is_made_anew() -> None:
    """The call that found out was not taken; the next one has another session, which its span names."""
    with fake((404, {}, b"")) as state, McpServer.http(state.url) as server:
        played = run(server.tools(), ("look", {}), ("look", {}))

    assert [told(played, at)["status"] for at in range(2)] == ["error", "completed"]
    assert state.sessions == 2
    assert executed(played)["mcp.session.id"] == "session-1"
    assert played.spans.named("execute_tool")[1].attributes["mcp.session.id"] == "session-2"


def test_an_answer_without_end_is_not_read() -> None:
    """A read's error; the session goes on."""
    huge = json_body(b" " * (MAX_MESSAGE_BYTES + 1))
    with fake(huge) as state, McpServer.http(state.url, effect="read") as server:
        played = run(server.tools(), ("look", {}), ("look", {}))

    assert [told(played, at)["status"] for at in range(2)] == ["error", "completed"]
    assert state.sessions == 1


def test_an_answer_that_is_compressed_is_not_read() -> None:
    """It was asked for plain, and may be a thousand times as long as it looks."""
    bomb = gzip.compress(b" " * 50_000_000)
    with (
        fake(json_body(bomb, **{"content-encoding": "gzip"})) as state,
        McpServer.http(state.url, effect="read") as server,
    ):
        played = run(server.tools(), ("look", {}))

    assert told(played)["status"] == "error"


def test_an_address_that_refuses_says_with_what() -> None:
    """And shows no credentials of it."""
    with fake(refuse_all=401) as state:
        url = state.url.replace("http://", "http://user:hunter2-hunter2@")
        with pytest.raises(UsageError) as refused:
            McpServer.http(url).open()

    assert "HTTP 401" in str(refused.value)
    assert "hunter2" not in str(refused.value)
