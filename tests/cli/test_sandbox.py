"""`sandbox`: what was said on stdout, a last line that a script can read, the run in the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ..command_line import program, traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

LAST = {
    "normal": "mode=normal status=final_answer",
    "unknown_tool": "mode=unknown_tool status=tool_not_allowed",
    "loop_forever": "mode=loop_forever status=repetition_detected",
}


@pytest.mark.parametrize("mode", LAST)
def test_the_last_line_is_mode_and_status(mode: str) -> None:
    """Exit code 0 when all went as told, and the run is in the store with that stop reason."""
    ended = traced_loop("sandbox", "--mode", mode)
    assert (ended.code, ended.out.splitlines()[-1]) == (0, LAST[mode])
    [listed] = [json.loads(line) for line in traced_loop("runs", "--json").out.splitlines()]
    assert LAST[mode].endswith(f"status={listed['stop_reason']}")
    assert ended.err_lines[-1] == f"traced-loop show {listed['run_id']}"


def test_without_a_mode_it_is_the_normal_one() -> None:
    """The shortest command works."""
    assert traced_loop("sandbox").out.splitlines()[-1] == LAST["normal"]


def test_the_messages_are_on_stdout_and_the_progress_on_stderr() -> None:
    """Roles, calls with their ids and results; finish reasons live."""
    ended = traced_loop("sandbox", "--mode", "unknown_tool")
    assert ended.out.startswith("[1] user\n    Where is order A100?\n")
    assert "calls cancel_order  call_1" in ended.out
    assert '"type":"unknown_tool"' in ended.out
    assert ended.err_lines[1] == "step 1: finish_reason=tool_calls"


def test_a_store_of_ones_own_takes_the_run(tmp_path: Path, home: Path) -> None:
    """`--store DIR` and nothing in the default one."""
    traced_loop("sandbox", "--store", str(tmp_path / "other"))
    assert len(list((tmp_path / "other" / "spans").iterdir())) == 1
    assert not home.exists()


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_the_last_line_is_the_same_in_any_width(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """COLUMNS breaks the lines of the messages, never the last one."""
    monkeypatch.setenv("COLUMNS", columns)
    lines = traced_loop("sandbox", "--mode", "loop_forever").out.splitlines()
    assert lines[-1] == LAST["loop_forever"]
    assert max(map(len, lines)) <= max(int(columns), len(LAST["loop_forever"]))


def test_the_program_says_the_same() -> None:
    """Once as a program of its own."""
    ended = program("sandbox", "--mode", "loop_forever")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, LAST["loop_forever"])
