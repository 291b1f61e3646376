"""`run` asks the person at the terminal about a write, and nobody where there is no terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop.cli.ask_person import MAX_VALUE_CHARACTERS, question
from traced_loop.messages import ToolCall
from traced_loop.run_result import Pending

from ..command_line import program, traced_loop
from ..models.chat_server import ANSWER, Reply, chat_server
from ..real.terminal import OnTerminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

XTERM = {"TERM": "xterm-256color"}
PROMPT = "Run it with exactly these arguments? [y/N] "
TICKET = {"title": "Broken \x1b[31mlamp\u202e", "body": "password=hunter2secret", "request_id": "REQ-1"}


def asking(*arguments: dict[str, Any]) -> Reply:
    """An answer in which the model wants tickets."""
    wanted = [
        {"id": f"call_{n}", "function": {"name": "create_ticket", "arguments": json.dumps(given)}}
        for n, given in enumerate(arguments, 1)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": wanted}
    return Reply(body={**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})


@pytest.fixture
def run() -> Iterator[list[str]]:
    """The arguments of a run whose model wants one ticket and then answers."""
    with chat_server(first=[asking(TICKET)]) as server:
        yield ["run", "Go.", "--base-url", server.base_url, "--model", "m", "--tools", "create_ticket"]


def outcomes(home: Path) -> list[str]:
    """How the calls of the one stored run ended."""
    [listed] = [json.loads(line) for line in traced_loop("runs", "--json").out.splitlines()]
    spans = traced_loop("show", listed["run_id"], "--json").json["spans"]
    assert not any(span["open"] for span in spans), home
    found = [span["attributes"].get("traced_loop.call.outcome") for span in spans]
    return [outcome for outcome in found if outcome]


@pytest.mark.parametrize(
    ("typed", "code", "outcome"),
    [
        ("y\n", 0, "ok"),
        ("YES \n", 0, "ok"),
        ("n\n", 0, "confirmation_rejected"),
        ("\n", 0, "confirmation_rejected"),
        ("maybe\ny\n", 0, "ok"),
        ("\x04", 4, "confirmation_required"),
    ],
    ids=["y", "yes", "n", "nothing", "something_else_first", "end_of_input"],
)
def test_a_person_decides_about_a_write(run: list[str], home: Path, typed: str, code: int, outcome: str) -> None:
    """Yes runs it, no is told to the model, and the end of the input leaves it open: the run pauses."""
    with OnTerminal(*run, columns=200, environment=XTERM) as terminal:
        for n, line in enumerate(typed.splitlines(keepends=True), 1):
            terminal.read_until(PROMPT, times=n)
            terminal.type(line)
        ended, screen = terminal.end()
    assert (ended, screen.cursor_shown) == (code, True), screen.lines
    assert outcomes(home) == [outcome]
    assert ("hello" in screen.lines) is (code == 0)


def test_the_person_sees_what_it_is_about_and_no_secret(run: list[str]) -> None:
    """Tool, effect, risk, why, and each argument: what is secret is masked, what moves a cursor is made visible."""
    with OnTerminal(*run, columns=200, environment=XTERM) as terminal:
        terminal.read_until(PROMPT)
        terminal.type("n\n")
        _, screen = terminal.end()
    at = next(n for n, line in enumerate(screen.lines) if "asks to run" in line)
    assert screen.lines[at : at + 2] == [
        "create_ticket asks to run: write, high risk",
        "  because   writes are confirmed (default_write)",
    ]
    assert '  title     "Broken \\u001b[31mlamp\\u202e"' in screen.lines
    assert '  request_id "REQ-1"' in screen.lines
    assert "hunter2secret" not in terminal.output.decode()
    assert "1 value masked" in "\n".join(screen.lines)


def test_ctrl_c_at_the_question_ends_the_run(run: list[str], home: Path) -> None:
    """Nothing ran, every span has ended, and the screen is as it should be."""
    with OnTerminal(*run, columns=200, environment=XTERM) as terminal:
        terminal.read_until(PROMPT)
        terminal.interrupt()
        code, screen = terminal.end()
    assert (code, screen.cursor_shown) == (130, True)
    assert outcomes(home) == ["skipped_stop"]
    assert any(line.startswith("stopped: cancelled") for line in screen.lines)


def test_of_two_equal_calls_a_person_is_asked_about_one(home: Path) -> None:
    """One yes does it once; the second call is answered with the first one's result."""
    with (
        chat_server(first=[asking(TICKET, TICKET)]) as server,
        OnTerminal(
            *("run", "Go.", "--base-url", server.base_url, "--model", "m", "--tools", "create_ticket"),
            columns=200,
            environment=XTERM,
        ) as terminal,
    ):
        terminal.read_until(PROMPT)
        terminal.type("y\n")
        assert terminal.end()[0] == 0
    assert outcomes(home) == ["ok", "replayed"]


def test_what_was_typed_before_the_question_is_no_answer(run: list[str], home: Path) -> None:
    """A yes to nothing must not run a write."""
    with OnTerminal(*run, columns=200, environment=XTERM) as terminal:
        terminal.type("y\n")
        terminal.read_until(PROMPT)
        terminal.type("n\n")
        assert terminal.end()[0] == 0
    assert outcomes(home) == ["confirmation_rejected"]


def test_nobody_is_asked_without_a_terminal(run: list[str], home: Path) -> None:
    """The run pauses with exit code 4, and says what waits."""
    ended = program(*run)
    assert (ended.code, ended.out) == (4, ""), ended.err
    assert "waits for a confirmation: create_ticket (call_1), writes are confirmed" in ended.err_lines
    assert "to be asked, run it at a terminal; --approve create_ticket runs it unasked" in ended.err_lines
    assert PROMPT not in ended.err
    assert outcomes(home) == ["confirmation_required"]


@pytest.mark.parametrize("approved", ["create_ticket", "create_ticket,create_ticket"])
def test_a_tool_that_is_approved_by_name_is_not_asked_about(run: list[str], home: Path, approved: str) -> None:
    """The span says who allowed it: whoever wrote the command."""
    ended = program(*run, "--approve", approved)
    assert (ended.code, ended.out) == (0, "hello\n"), ended.err
    assert outcomes(home) == ["ok"]
    spans = next((home / "spans").glob("*.jsonl")).read_text()
    assert "approved_on_command_line" in spans


def test_an_approved_name_that_is_no_tool_of_the_run_is_refused(run: list[str]) -> None:
    """A misspelt name is said at once."""
    ended = traced_loop(*run, "--approve", "create_tickets")
    assert (ended.code, ended.err) == (
        2,
        "traced-loop: --approve create_tickets: no tool of this run; its tools: create_ticket\n",
    )


def pending(arguments: dict[str, Any]) -> Pending:
    """A call that waits."""
    call = ToolCall(id="call_1", name="keep", arguments="{}", index=0)
    return Pending(call=call, tool="keep", arguments=arguments, reason="asked\x1b[2J", rule="my\u202erule")


def test_a_question_is_one_line_each_whatever_it_holds() -> None:
    """Names, values, the reason and the rule are others' texts; a long value says how long it is."""
    lines = [line.plain for line in question(pending({"a\nb": "x\ny", "big": "z" * 5_000, "n": [1, {"k": None}]}))]
    assert lines[:3] == [
        "keep asks to run: write, no high risk declared",
        "  because   asked\\x1b[2J (my\\u202erule)",
        '  a\\nb      "x\\ny"',
    ]
    assert len(lines[3]) < MAX_VALUE_CHARACTERS + 60
    assert lines[3].endswith("… (5,002 characters in all)")
    assert lines[4] == '  n         [1, {"k": null}]'
    assert all(line.isprintable() for line in lines)


def test_a_call_without_arguments_says_so() -> None:
    """Nothing is hidden."""
    assert [line.plain for line in question(pending({}))][-1] == "  without arguments"
