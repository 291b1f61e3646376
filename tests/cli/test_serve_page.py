"""What ``web`` says on the terminal while it serves."""

from __future__ import annotations

import pytest

from traced_loop.cli import serve_page
from traced_loop.records.store import store_folder
from traced_loop.web.guard.refusals import Refusal, RefusalKind

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
    serve_page._told_refusal(Refusal(kind=RefusalKind.NO_SESSION))
    assert capsys.readouterr().err == "refused: wrong_host (evil\\x1b[2J\\nrefused: nothing)\nrefused: no_session\n"
