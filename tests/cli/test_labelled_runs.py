"""The bar of the repetition detector, held through the command that everybody uses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..command_line import PROGRAM, WITHIN

SCORER = Path(__file__).parents[2].parent / "shared" / "eval" / "loops_eval.py"
LABELLED = SCORER.parents[1] / "loops" / "dev.jsonl"


@pytest.mark.skipif(
    not SCORER.exists() or not LABELLED.exists(), reason=f"no labelled runs: put the scorer at {SCORER}, them beside it"
)
def test_the_bar_is_held_by_the_command() -> None:
    """As its scorer asks it: a file of messages in, one JSON line per run out."""
    ended = subprocess.run(
        [sys.executable, SCORER, LABELLED, "--cmd", str(PROGRAM), "-v"],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "bar held"
