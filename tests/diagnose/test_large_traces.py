"""A file of a hundred thousand spans is diagnosed in proportion, and the report is short; a store a run at a time."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from ..command_line import PROGRAM, traced_loop
from ..nightly import NIGHTLY
from ..processor_time import LINEAR, TIMES, growth
from .large_runs import many_runs, one_long_run, write_spans, write_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPANS = 100_000 if NIGHTLY else 2_000
RUNS, SPANS_OF_RUN = (1_000, 1_000) if NIGHTLY else (20, 100)
TIMEOUT = 600
WITHIN_BYTES = 2 * 2**30
STORE_BYTES = 160 * 2**20
MOST_LINES = 200


@pytest.mark.parametrize("kind", [many_runs, one_long_run])
def test_a_large_file_is_diagnosed_in_bounded_memory(kind: object, tmp_path: Path) -> None:
    """And the report has counts instead of lists."""
    path = tmp_path / "large.jsonl"
    write_spans(path, kind(SPANS))  # type: ignore[operator]

    ended = subprocess.run(
        [PROGRAM, "diagnose", str(path)], capture_output=True, text=True, check=False, timeout=TIMEOUT
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.splitlines()) < MOST_LINES
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < WITHIN_BYTES


@pytest.mark.parametrize("kind", [many_runs, one_long_run])
def test_a_file_is_diagnosed_in_time_that_grows_with_it_and_not_faster(kind: object, tmp_path: Path) -> None:
    """Whether it has many runs or a long one."""

    def prepare(spans: int) -> Callable[[], None]:
        path = tmp_path / f"{spans}.jsonl"
        write_spans(path, kind(spans))  # type: ignore[operator]

        def act() -> None:
            assert traced_loop("diagnose", str(path)).code == 0

        return act

    assert growth(prepare, SPANS // TIMES) < LINEAR


@pytest.mark.parametrize("command", ["diagnose", "conform", "whatif"])
def test_a_store_is_gone_through_a_run_at_a_time(command: str, tmp_path: Path) -> None:
    """A million spans at night, in the memory that one run takes, and the first answer long before the last."""
    spans = write_store(tmp_path, RUNS, SPANS_OF_RUN)
    limits = ["--steps", "5"] if command == "whatif" else []
    arguments = [command, str(tmp_path), "--json", *limits]
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", PEAK, *arguments], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        first, came = program.stdout.readline(), time.monotonic() - began
        *others, peak = program.stdout.read().splitlines()
        took = time.monotonic() - began

    assert spans >= RUNS * SPANS_OF_RUN * 0.9
    assert [json.loads(line)["id"] for line in (first, *others)] == [f"run-{n:06d}" for n in reversed(range(RUNS))]
    assert not NIGHTLY or came < took / 4
    assert int(peak) * 1024 < STORE_BYTES


PEAK = """
import re, sys
from pathlib import Path
from traced_loop.cli import main

try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
"""The command line, and then the peak of its own memory in KiB."""
