"""The bar of the repetition detector, held through the command that everybody uses."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ..command_line import PROGRAM, WITHIN

SCORER = Path(__file__).parents[2].parent / "shared" / "eval" / "loops_eval.py"
LABELLED = SCORER.parents[1] / "loops" / "dev.jsonl"
MOST_SECONDS = 10.0
"""Of the CPU, for all of them and the scorer: two on an idle machine."""


@pytest.mark.skipif(
    not SCORER.exists() or not LABELLED.exists(), reason=f"no labelled runs: put the scorer at {SCORER}, them beside it"
)
def test_the_bar_is_held_by_the_command() -> None:
    """As its scorer asks it: a file of messages in, one JSON line per run out; and it does not take long."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, SCORER, LABELLED, "--cmd", str(PROGRAM), "-v"],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "bar held"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < MOST_SECONDS
