"""``resume`` as it is typed: what it says of a yes, and the commands that it names, which work as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..command_line import Ended, traced_loop
from ..models.chat_server import ANSWER, ChatServer, Reply, chat_server

if TYPE_CHECKING:
    from collections.abc import Iterator

TICKETS = '''
import pathlib
from traced_loop import tool

@tool(effect="write")
def create_ticket(title: str) -> str:
    """Create a ticket."""
    with pathlib.Path("tickets").open("a") as tickets:
        tickets.write(f"{title}\\n")
    return "T1"
'''
CALL = {"id": "call_1", "function": {"name": "create_ticket", "arguments": '{"title": "It broke"}'}}
MESSAGE = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ASKS = Reply(body={**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": MESSAGE}]})
ONE, TWO = "tickets:create_ticket", "tickets:create_ticket,multiply"


@pytest.fixture
def server(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A model that asks for a ticket first, and a store of its own."""
    (tmp_path / "tickets.py").write_text(TICKETS)
    monkeypatch.chdir(tmp_path)
    with chat_server(first=[ASKS]) as asked:
        yield asked


def paused(server: ChatServer) -> Ended:
    """A run that waits for a yes to ``call_1``."""
    ended = traced_loop("run", "Go.", "--base-url", server.base_url, "--model", "m", "--tools", ONE)
    assert ended.code == 4, ended.err
    return ended


def resumed(server: ChatServer, *words: str) -> Ended:
    """The newest run, gone on with."""
    return traced_loop("resume", "last", "--base-url", server.base_url, "--model", "m", *words)


def named_command(ended: Ended) -> list[str]:
    """What to type, as it was said."""
    [line] = [line for line in ended.err_lines if line.startswith("traced-loop resume ")]
    return shlex.split(line)[1:]


def tickets() -> list[str]:
    """What was really done."""
    return Path("tickets").read_text().splitlines() if Path("tickets").exists() else []


def test_the_command_that_lets_a_run_go_on_works_as_it_stands(server: ChatServer) -> None:
    """It has the options of the one that paused, also where it was a `resume`."""
    first = named_command(paused(server))
    second = named_command(traced_loop(*first[:-2]))

    done = traced_loop(*second)

    assert first == second
    assert (done.code, done.out, tickets()) == (0, "hello\n", ["It broke"])


def test_a_yes_that_is_not_taken_is_said_to_be_none_and_why(server: ChatServer) -> None:
    """In one sentence, with what to do; the command behind it is one that works."""
    paused(server)

    asked = resumed(server, "--tools", TWO, "--confirm", "call_1")

    assert (asked.code, tickets()) == (4, [])
    [stopped] = [line for line in asked.err_lines if line.startswith("stopped: ")]
    assert stopped.endswith(
        "waits for a confirmation: the yes was not taken, because the question was put with other tools than the run"
        " has now: say it again if it holds for these, or go on with those that it had"
    )
    done = traced_loop(*named_command(asked))
    assert (done.code, tickets()) == (0, ["It broke"])


def test_a_yes_holds_for_the_tools_that_it_was_asked_with_whatever_was_tried_since(server: ChatServer) -> None:
    """A mistake costs no second question."""
    right = named_command(paused(server))
    resumed(server, "--tools", TWO, "--confirm", "call_1")

    done = traced_loop(*right)

    assert (done.code, tickets()) == (0, ["It broke"])


def test_a_yes_under_another_key_is_told_from_one_to_other_tools(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tools are the same, and the variable is named."""
    paused(server)
    monkeypatch.setenv("TRACED_LOOP_FINGERPRINT_KEY", "another key of this test")

    asked = resumed(server, "--tools", ONE, "--confirm", "call_1")

    assert (asked.code, tickets()) == (4, [])
    assert "the question was put under another TRACED_LOOP_FINGERPRINT_KEY: say it again" in asked.err


def test_an_address_with_a_password_is_in_no_command_that_is_named(server: ChatServer) -> None:
    """What is on a screen is copied elsewhere; that there were options is said."""
    secret = server.base_url.replace("//", "//ann:topsecret@")

    ended = traced_loop("run", "Go.", "--base-url", secret, "--model", "m", "--tools", ONE)

    assert (ended.code, "topsecret" in ended.err) == (4, False)
    assert "to let it go on, with the options that it had, as --model and --tools:" in ended.err_lines


def test_a_run_that_has_its_answer_says_so_and_what_was_not_done(server: ChatServer) -> None:
    """The answer is given again; the run is in the store as it was, and nothing is said to be missing."""
    traced_loop(*named_command(paused(server)))

    again = resumed(server, "--confirm", "call_1", "--add", "steps=5")

    assert (again.code, again.out) == (0, "hello\n")
    said = "the run had its answer already, and is as it was; nothing was asked about call_1; nothing was added"
    assert again.err_lines[0] == f"{said} to its limits"
    assert "nothing was stored" not in again.err
    assert again.err_lines[-1].startswith("traced-loop show ")


def test_a_run_that_goes_on_is_not_said_to_have_had_its_answer(server: ChatServer) -> None:
    """Also where its answer is all that comes of it."""
    assert "had its answer" not in traced_loop(*named_command(paused(server))).err


@pytest.mark.parametrize("session", [(), ("--session", "my talk")], ids=["no session", "session"])
def test_what_cannot_be_said_to_a_run_with_its_answer_can_be_said_in_its_session(
    server: ChatServer, session: tuple[str, ...]
) -> None:
    """The command that is named does it; a run without a session is told from one with."""
    server.first.clear()
    options = ("--base-url", server.base_url, "--model", "m", "--tools", "none")
    assert traced_loop("run", "Go.", *options, *session).code == 0

    refused = resumed(server, "--tools", "none", "--prompt", "Shorter, please.")

    assert refused.code == 2
    if session:
        named = shlex.split(refused.err.partition("`")[2].partition("`")[0])
        assert named == ["traced-loop", "run", "TEXT", *session]
        assert traced_loop("run", "Shorter, please.", *named[3:], *options).code == 0
        assert [m["content"] for m in server.bodies[-1]["messages"]] == ["Go.", "hello", "Shorter, please."]
    else:
        assert "nothing can be said to it any more" in refused.err
        assert "--session NAME" in refused.err
