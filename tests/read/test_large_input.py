"""Large input: read in time and memory that grow with it and not faster, and a store of any size a run at a time."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from traced_loop import names
from traced_loop.read.agent_runs import agent_runs
from traced_loop.read.span_file import EVERY, SpanFile, read_spans
from traced_loop.read.trace import StoredSpan
from traced_loop.records.trace_store import ENDED_SUFFIX

from ..benchmarks.reading import lines, long_trace
from ..nightly import NIGHTLY
from ..processor_time import LINEAR, TIMES, growth
from .recorded import never

SPANS = 100_000 if NIGHTLY else 2_000
RUNS, SPANS_OF_RUN = (1_000, 1_000) if NIGHTLY else (20, 100)
MIB = 1 << 20


def read(data: bytes, **options: Any) -> tuple[StoredSpan, ...]:
    """The spans of a file."""
    found = read_spans(io.BytesIO(data), "the file", **options)
    assert isinstance(found, SpanFile)
    return found.spans


def test_one_trace_is_read_into_its_run_whatever_its_size() -> None:
    """Every request and every call: 100,000 spans at night."""
    data = lines(list(long_trace(SPANS)))
    told: list[int] = []
    [run] = agent_runs(read(data, progress=told.append), our_run=never)
    steps = (SPANS - 1 + 2) // 3
    assert (len(run.requests), len(run.requests) + len(run.calls)) == (steps, SPANS - 1 + _never_ran(SPANS))
    assert run.problems == ()
    assert told == [*range(EVERY, SPANS + 1, EVERY)] if SPANS % EVERY == 0 else told[-1] == SPANS


def _never_ran(spans: int) -> int:
    """Calls of the last step for which there is no span any more."""
    return {0: 0, 1: 2, 2: 1}[(spans - 1) % 3]


def test_memory_grows_with_the_spans_and_not_faster() -> None:
    """At most 2 KiB a span are kept of a file of lines, and while it is read not much more."""
    data = lines(list(long_trace(SPANS)))
    tracemalloc.start()
    try:
        kept = read(data)
        size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == SPANS
    assert size / SPANS < 2_048
    assert peak < size * 1.5 + 4 * MIB


def test_only_what_is_wanted_is_kept() -> None:
    """The other traces of a file are read and forgotten."""
    data = lines([*long_trace(SPANS)])
    tracemalloc.start()
    try:
        assert read(data, keep=lambda span: span.span_id == f"{1:016x}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda n, _: f"{n:016x}" if n else "", id="a chain"),
        pytest.param(lambda n, _: f"{n + 10**6:016x}", id="orphans"),
        pytest.param(lambda n, many: f"{(n + 1) % many + 1:016x}", id="a circle"),
    ],
)
def test_no_shape_of_a_trace_makes_reading_quadratic(shape: Callable[[int, int], str]) -> None:
    """The time grows with the spans, and not faster."""

    def prepare(many: int) -> Callable[[], object]:
        spans = [
            StoredSpan(
                trace_id=f"{1:032x}",
                span_id=f"{n + 1:016x}",
                parent_id=shape(n, many),
                start_ns=n + 1,
                end_ns=many * 2 - n,
                attributes={"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1},
            )
            for n in range(many)
        ]
        return partial(agent_runs, spans, our_run=never)

    assert growth(prepare, SPANS // TIMES) < LINEAR


def test_a_file_is_read_in_time_that_grows_with_it_and_not_faster() -> None:
    """From its lines to its run."""

    def prepare(many: int) -> Callable[[], object]:
        data = lines(list(long_trace(many)))
        return lambda: agent_runs(read(data), our_run=never)

    assert growth(prepare, SPANS // TIMES) < LINEAR


def test_a_store_is_read_a_run_at_a_time(tmp_path: Path) -> None:
    """A million spans at night: as much memory as one run takes, however many there are."""
    folder = tmp_path / "spans"
    folder.mkdir()
    for run in range(RUNS):
        run_id = f"run-{run:06d}"
        with (folder / f"{run_id}{ENDED_SUFFIX}").open("w") as file:
            for n in range(SPANS_OF_RUN):
                file.write(_line(run, n, run_id))
    ended = subprocess.run(
        [sys.executable, "-c", READ_STORE, tmp_path], capture_output=True, text=True, check=True, timeout=1_200
    )
    runs, spans, peak = map(int, ended.stdout.split())
    assert (runs, spans) == (RUNS, RUNS * SPANS_OF_RUN)
    assert peak < 150 * MIB


READ_STORE = """
import re, sys
from pathlib import Path
from traced_loop import names
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.source import Readers, open_source

def our_run(trace):
    return AgentRun(id=trace.spans[0].attributes[names.RUN_ID], dialect="traced_loop", trace=trace)

source = open_source(sys.argv[1], readers=Readers(our_run=our_run, messages_runs=None))
sizes = [len(run.trace.spans) for run in source.runs]
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(len(sizes), sum(sizes), int(peak) * 1024)
"""
"""Prints the peak of its own memory: what ``getrusage`` tells includes that of the process that started it."""


def _line(run: int, n: int, run_id: str) -> str:
    written = {
        "traceId": f"{run + 1:032x}",
        "spanId": f"{n + 1:016x}",
        "parentSpanId": f"{1:016x}" if n else "",
        "name": "chat m" if n else "invoke_agent a",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + n),
        "endTimeUnixNano": str(1_700_000_000_000_001_000 + n),
        "attributes": [
            {"key": names.RUN_ID, "value": {"stringValue": run_id}},
            {"key": names.GEN_AI_OPERATION, "value": {"stringValue": "chat" if n else "invoke_agent"}},
        ],
    }
    request = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": names.SCOPE}, "spans": [written]}]}]}
    return json.dumps(request) + "\n"
