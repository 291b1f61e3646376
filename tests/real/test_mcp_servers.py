"""Tools of MCP servers that others wrote, over stdio and streamable HTTP; what the loop does is read from its trace."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, McpServer, OpenAIModel, Policy, ScriptedModel, StopReason, allow_when
from traced_loop.testing import Spans, calls, counted_wiring

from ..command_line import program
from .aimock import asks_for, in_order, says, tool_call
from .mcp_servers import everything_over_http, server_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .aimock import Aimock

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]


def played(server: McpServer, *proposed: tuple[str, Any], policy: Policy | None = None) -> tuple[list[Any], Spans, Any]:
    """What the model was told of each call, the spans, and the result."""
    spans = Spans()
    model = ScriptedModel([*(calls(each) for each in proposed), "done"])
    result = Loop(model, server.tools(), policy=policy, wiring=counted_wiring(spans)).run("Go.")
    told = [json.loads(message["content"]) for message in result.messages if message["role"] == "tool"]
    return told, spans, result


@pytest.fixture
def everything_url(tmp_path: Path) -> Iterator[str]:
    """The protocol's own server, over HTTP."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with everything_over_http(tmp_path, port) as url:
        yield url


def test_the_time_server_over_stdio() -> None:
    """From PyPI; its tools are reads by its own word, and its result is structured."""
    with McpServer.stdio(sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC") as server:
        told, spans, _ = played(server, ("get_current_time", {"timezone": "Asia/Tokyo"}), ("convert_time", {"time": 7}))

    assert told[0]["result"]["timezone"] == "Asia/Tokyo"
    assert told[1]["type"] == "invalid"
    (span,) = spans.named("execute_tool")
    assert span.attributes["mcp.method.name"] == "tools/call"
    assert span.attributes["network.transport"] == "pipe"
    assert span.attributes["traced_loop.effect"] == "read"


def test_the_file_server_over_stdio(tmp_path: Path) -> None:
    """From npm; it writes where it may, only after it was allowed to, and says an error where it may not."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("inside")
    with McpServer.stdio(*server_command("filesystem"), str(folder), prefix="fs_") as server:
        effects = {each.name: each.effect for each in server.tools()}
        told, spans, _ = played(server, ("fs_read_text_file", {"path": str(folder / "a.txt")}))
        write = ("fs_write_file", {"path": str(folder / "b.txt"), "content": "new"})
        _, _, refused = played(server, write)
        assert not (folder / "b.txt").exists()
        written, _, _ = played(server, write, policy=Policy(rules=[allow_when(["fs_write_file"])]))
        outside, _, after = played(server, ("fs_read_text_file", {"path": "/etc/hostname"}))

    assert (effects["fs_read_text_file"], effects["fs_write_file"]) == ("read", "write")
    assert "inside" in json.dumps(told[0]["result"])
    assert refused.stop_reason is StopReason.CONFIRMATION_REQUIRED
    assert written[0]["status"] == "completed"
    assert (folder / "b.txt").read_text() == "new"
    assert outside[0]["type"] == "error"
    assert after.stop_reason is StopReason.FINAL_ANSWER
    assert spans.named("execute_tool")[0].attributes["gen_ai.tool.name"] == "fs_read_text_file"


def test_the_protocols_own_server_over_http(everything_url: str) -> None:
    """From npm; an older protocol with a session, whose id is on the span."""
    with McpServer.http(everything_url) as server:
        told, spans, _ = played(
            server, ("echo", {"message": "hello"}), ("get-structured-content", {"location": "Chicago"})
        )

    assert "hello" in told[0]["result"]
    assert told[1]["result"]["conditions"]
    first, second = (span.attributes for span in spans.named("execute_tool"))
    assert first["network.transport"] == "tcp"
    assert first["server.address"] == "127.0.0.1"
    assert len(first["mcp.session.id"]) >= 16
    assert first["mcp.session.id"] == second["mcp.session.id"]
    assert first["traced_loop.mcp.server.name"] == "mcp-servers/everything"


def test_the_protocols_own_server_over_stdio() -> None:
    """An image is a marker, a call that takes too long is told to end, and the session goes on."""
    with McpServer.stdio(*server_command("everything"), "stdio", timeout=3) as server:
        told, _, _ = played(server, ("get-tiny-image", {}), ("get-sum", {"a": 1, "b": 2}))
        _, _, hung = played(server, ("trigger-long-running-operation", {"duration": 60}))
        after, _, _ = played(server, ("get-sum", {"a": 2, "b": 2}))

    assert "[image image/png, " in told[0]["result"]
    assert len(told[0]["result"]) < 500
    assert "3" in told[1]["result"]
    assert hung.stop_reason is StopReason.TOOL_TIMEOUT
    assert "4" in after[0]["result"]


def test_the_command_line_gives_a_servers_tools_to_a_run(start_aimock: Callable[..., Aimock]) -> None:
    """Beside its own, with a name before each; nothing but the answer is on stdout."""
    asks = asks_for(tool_call("call_1", "time_get_current_time", {"timezone": "UTC"}))
    model = start_aimock(in_order(asks, says("It is late.")))
    given = ["--mcp", f"time={sys.executable} -m mcp_server_time", "--base-url", model.base_url, "--model", "gpt-test"]
    ended = program("run", "What time is it?", *given)

    assert (ended.code, ended.out) == (0, "It is late.\n"), ended.err
    assert any("time_get_current_time" in line and "completed" in line for line in ended.err_lines)


def test_a_real_client_and_a_real_server_together(start_aimock: Callable[..., Aimock]) -> None:
    """The model server is offered the MCP server's tools with its schemas, and told its results."""
    asks = asks_for(tool_call("call_1", "time_get_current_time", {"timezone": "UTC"}))
    model = start_aimock(in_order(asks, says("It is late.")))
    with McpServer.stdio(sys.executable, "-m", "mcp_server_time", prefix="time_") as server:
        result = Loop(OpenAIModel("gpt-test", base_url=model.base_url), server.tools()).run("What time is it?")

    assert result.answer == "It is late."
    first, second = model.requests()
    offered = {each["function"]["name"]: each["function"] for each in first["tools"]}
    assert offered["time_get_current_time"]["parameters"]["required"] == ["timezone"]
    assert '"timezone":"UTC"' in second["messages"][-1]["content"].replace(" ", "")
