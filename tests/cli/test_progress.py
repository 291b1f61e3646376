"""How far a reading is, is told on a terminal only, and gone in the end."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from traced_loop.cli import progress as module
from traced_loop.cli.progress import Progress

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def on(stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Such a stderr for this test; whatever is told is told at once."""
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", stderr)
    return stderr


def test_a_terminal_is_told_on_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans while they are read, then runs; cleared once."""
    terminal = on(Terminal(), monkeypatch)
    progress = Progress()
    progress.spans(12_000)
    progress.run()
    progress.clear()
    progress.clear()

    assert terminal.getvalue() == "\r\x1b[K12,000 spans read\r\x1b[K1 run read\r\x1b[K"


def test_nothing_is_told_elsewhere_and_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a file or a pipe; and not between lines that say themselves how far it is."""
    for stderr, shown in [(io.StringIO(), True), (Terminal(), False)]:
        on(stderr, monkeypatch)
        progress = Progress(shown=shown)
        progress.spans(1)
        progress.run()
        progress.clear()
        assert stderr.getvalue() == ""


@pytest.mark.parametrize(
    ("first", "ids", "line"),
    [('{"id": 7, "messages": []}\nnonsense', ["7", "b"], 2), ("nonsense", ["b"], 1), ('{"id": "a', ["b"], 1)],
)
def test_what_is_wrong_with_a_log_is_told_behind_its_runs(
    first: str, ids: list[str], line: int, tmp_path: Path
) -> None:
    """A line that is no run is no reason to say nothing about the others; stdout holds the answers only."""
    log = tmp_path / "log.jsonl"
    log.write_text(f'{first}\n{{"id": "b", "messages": []}}\n')

    ended = traced_loop("diagnose", "--format", "messages", str(log), "--json")

    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == ids
    assert ended.code == 0
    assert f"line {line} of" in ended.err
