"""``web``: what is wrong with an option is said in the words of ``run``; what it says while it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop.cli import serve_page
from traced_loop.records.store import store_folder
from traced_loop.web.guard.refusals import Refusal, RefusalKind

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "~no-such-user\x1b[31m"


def fault() -> BaseException:
    """An exception out of our code, with content in its text."""
    with pytest.raises(Exception, match="names no folder") as raised:
        store_folder(SECRET)
    return raised.value


def test_a_fault_is_one_line_with_its_type_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a word of its text, which is content; the line says how to see it."""
    serve_page._told_fault(fault())
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("a page failed: StoreError at store.py:")
    assert line.endswith("(TRACED_LOOP_WEB_TRACEBACKS=1 shows the traceback, with content)")
    assert "no-such-user" not in line


def test_a_fault_from_elsewhere_has_no_place(capsys: pytest.CaptureFixture[str]) -> None:
    """One that never was in our code."""
    serve_page._told_fault(ValueError("content"))
    assert capsys.readouterr().err.startswith("a page failed: ValueError (TRACED_LOOP")


def test_the_traceback_is_shown_on_demand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Safe for a terminal, line by line."""
    monkeypatch.setenv("TRACED_LOOP_WEB_TRACEBACKS", "1")
    serve_page._told_fault(fault())
    told = capsys.readouterr().err
    assert "Traceback (most recent call last):" in told
    assert "no-such-user" in told
    assert "\x1b" not in told


def test_a_refusal_is_one_line_that_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """Its detail is a stranger's text."""
    serve_page._told_refusal(Refusal(kind=RefusalKind.WRONG_HOST, detail="evil\x1b[2J\nrefused: nothing"))
    said = capsys.readouterr().err
    assert said.startswith("refused: wrong_host (evil\\x1b[2J\\nrefused: nothing): it was asked for under a name")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tools", "no.such.module:tool"], "--tools no.such.module:tool"),
        (["--tools", "read_text_file"], "--root"),
        (["--approve", "create"], "no tool of this run"),
        (["--policy", "os:getcwd"], "not a Policy"),
        (["--price", "cheap"], "--price cheap"),
        (["--api", "soap"], "--api soap"),
        (["--mcp", " "], "write a command"),
        (["--max-steps", "0"], "must be more than 0"),
    ],
)
def test_an_option_that_makes_no_sense_ends_the_command(home: Path, options: list[str], said: str) -> None:
    """No link is printed, and nothing is stored."""
    ended = traced_loop("web", "--no-open", "--port", "0", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not home.exists()


def test_it_has_the_options_of_run_that_a_page_has_a_use_for(home: Path) -> None:
    """Model, tools and policy are spelled once; what is about one prompt is left out."""
    told = traced_loop("web", "--help").out
    for option in ("--model", "--base-url", "--tools", "--mcp", "--policy", "--approve", "--port", "--no-open"):
        assert option in told
    for option in ("--system", "--session", "--record", "--json"):
        assert option not in told
