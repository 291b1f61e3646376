"""Ctrl-C and SIGTERM: the run is stored as cancelled, every span has ended and is delivered, nothing is a traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import names
from traced_loop.rules.pairing import pairing_problems

from ..command_line import PROGRAM, WITHIN, traced_loop
from .aimock import asks_for, fails, in_order, says, tool_call
from .child_process import poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .aimock import Aimock
    from .received_telemetry import OtlpReceiver

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

SLOW_TOOL = '''
import asyncio, pathlib, threading
from traced_loop import tool

@tool(effect="read")
def hangs() -> str:
    """Never end."""
    pathlib.Path("started").touch()
    threading.Event().wait(600)
    return "never"

@tool(effect="read")
async def waits() -> str:
    """Never end, in async code."""
    pathlib.Path("started").touch()
    await asyncio.sleep(600)
    return "never"
'''


def start(base_url: str, *more: str) -> subprocess.Popen[str]:
    """The program, while it runs."""
    command = [PROGRAM, "run", "Go.", "--base-url", base_url, "--model", "gpt-test", *more]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def interrupted(process: subprocess.Popen[str], sent: signal.Signals) -> tuple[str, dict[str, Any]]:
    """Stderr after the signal, and the run as it is stored; checks what is true of every interrupted run."""
    process.send_signal(sent)
    out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert "stopped: cancelled" in err
    run_id = err.splitlines()[-1].removeprefix("traced-loop show ")
    shown: dict[str, Any] = traced_loop("show", run_id, "--messages", "--json").json
    assert (shown["run"]["stop_reason"], shown["run"]["state"]) == ("cancelled", "ended"), shown["run"]
    assert not any(span["open"] for span in shown["spans"])
    assert pairing_problems(shown["messages"]) == []
    return err, shown


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_while_the_model_hangs(otlp_receiver: OtlpReceiver, sent: signal.Signals) -> None:
    """The request's span has ended with an error, and the collector has every span of the store."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        base_url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        process = start(base_url, "--otlp", otlp_receiver.http_endpoint)
        server.settimeout(WITHIN)
        connection, _ = server.accept()
        connection.settimeout(WITHIN)
        assert connection.recv(1)  # the request is on its way
        _, shown = interrupted(process, sent)
        connection.close()
    chat = next(span for span in shown["spans"] if span["name"] == "chat gpt-test")
    assert chat["error"]
    assert {span.span_id for span in otlp_receiver.spans()} == {span["span_id"] for span in shown["spans"]}


@pytest.mark.parametrize(("sent", "tool"), [(signal.SIGINT, "hangs"), (signal.SIGTERM, "waits")])
def test_while_a_tool_runs(
    start_aimock: Callable[..., Aimock], otlp_receiver: OtlpReceiver, tmp_path: Path, sent: signal.Signals, tool: str
) -> None:
    """The call is answered as cancelled, also where its thread cannot be ended, and the program ends."""
    (tmp_path / "slow_tools.py").write_text(SLOW_TOOL)
    server = start_aimock(in_order(asks_for(tool_call("call_1", tool, {})), says("never")))
    process = start(server.base_url, "--tools", f"slow_tools:{tool}", "--otlp", otlp_receiver.http_endpoint)
    poll((tmp_path / "started").exists, within=WITHIN, otherwise=lambda: "the tool's start")
    _, shown = interrupted(process, sent)
    [executed] = [span for span in shown["spans"] if span["name"] == f"execute_tool {tool}"]
    assert executed["attributes"][names.CALL_OUTCOME] == "cancelled"
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "tool"]
    assert {span.span_id for span in otlp_receiver.spans()} == {span["span_id"] for span in shown["spans"]}


def test_while_another_try_is_waited_for(start_aimock: Callable[..., Aimock]) -> None:
    """A server asked for half a minute of patience: Ctrl-C does not wait for it."""
    server = start_aimock(in_order(fails(429, "slow down", retry_after=30), says("never")))
    process = start(server.base_url)
    assert process.stderr is not None
    assert process.stderr.readline() == "step 1: try 1 failed (429), again in 30 s\n"
    _, shown = interrupted(process, signal.SIGINT)
    assert [span["name"] for span in shown["spans"]].count(names.ATTEMPT) == 1


def test_json_is_printed_of_an_interrupted_run_too(tmp_path: Path, start_aimock: Callable[..., Aimock]) -> None:
    """A program that reads stdout gets the run id and the stop reason."""
    (tmp_path / "slow_tools.py").write_text(SLOW_TOOL)
    server = start_aimock(in_order(asks_for(tool_call("call_1", "waits", {}))))
    process = start(server.base_url, "--tools", "slow_tools:waits", "--json")
    poll((tmp_path / "started").exists, within=WITHIN, otherwise=lambda: "the tool's start")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=WITHIN)
    assert '"stop_reason": "cancelled"' in out
    assert process.returncode == 130
