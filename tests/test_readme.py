"""What the README promises: its commands run, its code runs, its picture is what the demo shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from traced_loop import Budget, Decision, Loop, Policy, ScriptedModel
from traced_loop.call_ledger import Write
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store
from traced_loop.testing import calls
from traced_loop.tools import DEFAULT_NAMES, shipped

from .command_line import WITHIN, traced_loop
from .real.aimock import AimockMissingError, asks_for, running_aimock, says, tool_call
from .real.received_telemetry import running_otlp_receiver
from .web.raw_requests import entered, request
from .web.running_page import running_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .real.aimock import Aimock

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ +)*(?:uv run +)?traced-loop ")
INLINE = re.compile(r"`((?:uv run )?traced-loop [^`]+)`")
SPAN = re.compile(r"^ +\+?<?[\d.]+ (?:s|ms|min) +<?[\d.]+ (?:s|ms|min) ( *)(\S+)", re.MULTILINE)
"""A line of a trace: when, how long, and then, indented by its parents, the span."""


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


LINES = [line for block in blocks("bash") for line in block.splitlines() if line.strip()]
NAMED = list(dict.fromkeys([line for line in LINES if COMMAND.match(line)] + INLINE.findall(README)))
SERVING = [command for command in NAMED if re.search(r"traced-loop web\b", command)]
"""Commands that answer until they are ended."""
COMMANDS = [command for command in NAMED if command not in SERVING]
NOT_RUN_HERE = {
    "pip install uv && uv run traced-loop demo": "CI runs it in a fresh clone",
    "uv run pytest": "this is it",
}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """A model that asks for the tool that it is offered, once, and then answers."""
    multiply = asks_for(tool_call("call_1", "multiply", {"a": 62, "b": 60}))
    order = asks_for(tool_call("call_1", "query_order", {"order_id": "A100"}))
    time = asks_for(tool_call("call_1", "get_current_time", {"timezone": "Asia/Tokyo"}))
    fixtures = [
        {"match": {"endpoint": "chat", "toolName": name, "sequenceIndex": 0}, "response": response}
        for name, response in (("multiply", multiply), ("query_order", order), ("get_current_time", time))
    ]
    answer = {"match": {"endpoint": "chat"}, "response": says("That is the answer.")}
    try:
        with running_aimock([*fixtures, answer], tmp_path_factory.mktemp("aimock")) as running:
            yield running
    except AimockMissingError as missing:
        pytest.skip(str(missing))


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the README as it stands, in this environment instead of one that uv makes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command.replace("uv run ", "")],
        cwd=ROOT,
        env={**os.environ, "PATH": path, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
    )


def test_every_line_of_a_bash_block_is_known_here() -> None:
    """It is a command that is run below, sets a variable, or is listed with the reason why not."""
    unknown = [line for line in LINES if not COMMAND.match(line) and line not in NOT_RUN_HERE]
    assert [line for line in unknown if not line.startswith("export ")] == []
    assert len(COMMANDS) >= 8


def stopped_run(command: str) -> str:
    """The id of a run that goes on with such a command."""
    call = calls(("multiply", {"a": 62, "b": 60}))
    cut = {"choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "It is"}}]}
    script = [cut] if "--prompt" in command else [call]
    asks = Policy(rules=[lambda _: Decision.NEEDS_CONFIRMATION]) if "--confirm" in command else None
    tools = [shipped()[name] for name in DEFAULT_NAMES]
    budget = Budget(steps=1) if "--add" in command else None
    return Loop(ScriptedModel(script), tools, budget=budget, policy=asks).run("62 times 60?").run_id


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command: str, server: Aimock, tmp_path: Path) -> None:
    """With a run for RUN, an unknown write of it for CALL, and servers of these tests for those of others."""
    if " resume " in command:
        run_id = stopped_run(command)
        command = command.replace("RUN", run_id).replace("CALL", "call_1")
    if "RUN" in command:
        traced_loop("sandbox")
        run_id = json.loads(traced_loop("runs", "--json").out.splitlines()[0])["run_id"]
        command = command.replace("RUN", run_id)
        if "CALL" in command:
            write = Write(tool="pay", key="k", fingerprint="f", declared=True, run_id=run_id, call_id="call_9")
            DurableLedger(Store.open()).doubt(write)
            command = command.replace("CALL", "call_9")
    with running_otlp_receiver(tmp_path) as receiver:
        command = command.replace("http://localhost:4318", receiver.http_endpoint)
        ended = shell(command, OPENAI_API_KEY="sk-readme", OPENAI_BASE_URL=server.base_url)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.strip() or re.search("no runs in the store|nothing to recover", ended.stderr)
        assert bool(receiver.spans()) is ("OTLP_ENDPOINT" in command)
    if " run " in command.replace("uv run", "") or " resume " in command:
        assert ended.stdout == "That is the answer.\n"


@pytest.mark.parametrize("command", SERVING)
def test_a_command_that_serves_answers_until_it_is_ended(command: str, home: Path) -> None:
    """On a free port, with no browser: what it prints is a link that lets its reader in; Ctrl-C ends it well."""
    [options] = re.findall(r"traced-loop (web\b.*)", command)
    with running_page(home, *[option for option in options.split()[1:] if option != "--no-open"]) as server:
        cookie = entered(server.new_link())
        assert request(server.address, headers={"cookie": cookie}).status == 200
    assert server.process.returncode == 0


@pytest.mark.parametrize("code", blocks("python"))
def test_the_code_runs(
    code: str, server: Aimock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands, against a server that speaks OpenAI's protocol."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-readme")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    reason, _, run_id = capsys.readouterr().out.partition(" That is the answer. ")
    assert (reason, traced_loop("show", run_id.strip()).code) == ("final_answer", 0)
    assert [message["role"] for message in server.requests()[-1]["messages"]] == ["user", "assistant", "tool"]


def page_of_the_limit() -> str:
    """What the demo shows of its run that is stopped by a limit."""
    pages: list[str] = re.split(r"^\d of \d  .*$", traced_loop("demo").out, flags=re.MULTILINE)
    return next(page for page in pages if "invoke_agent limit" in page)


def test_the_picture_is_what_the_demo_shows() -> None:
    """The same spans under the same parents, in that order; the picture may leave a middle out."""
    [picture] = blocks("text")
    beginning, _, end = picture.partition("   ...\n")
    shown = SPAN.findall(page_of_the_limit())
    first, last = SPAN.findall(beginning), SPAN.findall(end)
    assert len(first) > 5
    assert shown[: len(first)] == first
    assert shown[len(shown) - len(last) :] == last


def test_the_pictures_header_is_what_the_demo_shows() -> None:
    """The labels of the header, in that order, and the heads of the two columns."""
    [picture] = blocks("text")
    label = re.compile(r"^([a-z_]+)  +\S", re.MULTILINE)
    drawn, shown = label.findall(picture), label.findall(page_of_the_limit())
    assert drawn == [word for word in shown if word in drawn]
    assert {"run", "stopped", "tokens", "cost"} <= set(drawn)
    heads = re.compile(r"^ +(\w+ +\w+) *$", re.MULTILINE)
    assert [h.split() for h in heads.findall(picture)] == [h.split() for h in heads.findall(page_of_the_limit())]


def test_the_stop_is_the_one_in_the_picture() -> None:
    """The same reason, in the same words."""
    [picture] = blocks("text")
    stopped = re.compile(r"^stopped .*$", re.MULTILINE)
    assert stopped.findall(picture) == stopped.findall(page_of_the_limit())


def test_the_first_command_is_run_by_ci_in_a_fresh_clone() -> None:
    """`pip install uv` is CI's own first step; the second half is run in a clone with an empty home."""
    assert "pip install uv && uv run traced-loop demo" in LINES
    ci = (ROOT / ".ci" / "run").read_text()
    assert "git clone --quiet . " in ci
    assert "bash -c 'uv run traced-loop demo'" in ci


def test_every_file_that_is_linked_exists() -> None:
    """Relative links lead somewhere."""
    links = re.findall(r"\]\((?!https?://)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
