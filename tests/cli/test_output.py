"""Where commands write: a terminal obeys nothing that a model says, a pipe gets it as it is."""

from __future__ import annotations

import contextlib
import json
import os
import pty
from typing import TYPE_CHECKING

import pytest

from traced_loop.cli.output import write_answer, write_json

from ..command_line import traced_loop
from ..models.chat_server import ANSWER, Reply, chat_server

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "first\tline\r\n\x1b[2J\x07second\u202e\n"


def test_a_terminal_gets_the_lines_of_an_answer_and_none_of_its_controls() -> None:
    """Line ends and tabs stay; what would clear the screen, ring or turn text round is shown."""
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as terminal, contextlib.redirect_stdout(terminal):  # noqa: PTH123
        write_answer(HOSTILE)
        shown = os.read(master, 1000).decode()
    os.close(master)

    assert shown.replace("\r\n", "\n").expandtabs() == "first\tline\n\\x1b[2J\\x07second\\u202e\n\n".expandtabs()


def test_a_file_gets_an_answer_as_it_is(tmp_path: Path) -> None:
    """It is data there."""
    with (tmp_path / "answer").open("w", newline="") as file, contextlib.redirect_stdout(file):
        write_answer(HOSTILE)

    assert (tmp_path / "answer").read_bytes().decode() == f"{HOSTILE}\n"


@pytest.mark.usefixtures("home")
def test_the_answer_of_a_run_is_ascii_in_json_and_raw_in_a_pipe() -> None:
    """JSON moves no cursor wherever it is shown; the value is the same."""
    [choice] = ANSWER["choices"]
    message = {"role": "assistant", "content": HOSTILE}
    with chat_server(Reply(body={**ANSWER, "choices": [{**choice, "message": message}]})) as server:
        asked = ("run", "Go.", "--model", "m", "--base-url", server.base_url)
        plain, as_json = traced_loop(*asked), traced_loop(*asked, "--json")

    assert (plain.code, plain.out) == (0, f"{HOSTILE}\n")
    assert as_json.out.isascii()
    assert as_json.json["answer"] == HOSTILE


def test_json_for_programs_has_no_number_that_json_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    """What is infinite, or no number, is unknown: null, wherever in a value it stands."""
    write_json({"a": float("nan"), "b": [1.5, (float("inf"), {"c": -float("inf"), "d": 10**30, "e": True})]})

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    read = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert read == {"a": None, "b": [1.5, [None, {"c": None, "d": 10**30, "e": True}]]}
