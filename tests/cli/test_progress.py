"""How far a reading is, is told on a terminal only, and gone in the end."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from traced_loop.cli import progress as module
from traced_loop.cli.progress import Progress

from ..command_line import PROGRAM, traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Such a stderr; whatever is told is told at once."""
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    return terminal


def test_a_terminal_is_told_on_one_line_that_goes_away(stderr: Terminal) -> None:
    """Spans while they are read, then runs; cleared once."""
    progress = Progress()
    progress.spans(12_000)
    progress.run()
    progress.clear()
    progress.clear()

    assert stderr.getvalue() == "\r\x1b[K12,000 spans read\r\x1b[K1 run read\r\x1b[K"


def test_who_writes_a_line_for_each_run_wants_no_other_sign(stderr: Terminal) -> None:
    """Else the two would stand in each other's way."""
    progress = Progress(shown=False)
    progress.run()
    progress.clear()

    assert stderr.getvalue() == ""


def test_a_file_or_a_pipe_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither cleared."""
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.0)
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    progress = Progress()
    progress.spans(1)
    progress.clear()

    assert plain.getvalue() == ""


def test_what_is_wrong_with_a_log_is_told_behind_its_runs(tmp_path: Path) -> None:
    """A line that is no run is no reason to say nothing about the others; stdout holds the answers only."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": 7, "messages": []}\nnonsense\n{"id": "b", "messages": []}\n')

    ended = traced_loop("diagnose", "--format", "messages", str(log), "--json")

    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == ["7", "b"]
    assert ended.code == 0
    assert "line 2 of" in ended.err
    assert PROGRAM.name not in ended.err
