"""``conform`` exits with 0 for runs that keep the promises, and with 1 for one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traced_loop import names
from traced_loop.records.store import Store
from traced_loop.records.trace_store import ENDED_SUFFIX, TraceStore
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedClock

from ..command_line import traced_loop


@pytest.fixture
def spans(home: Path) -> Path:
    """The span file of the newest run of the demo."""
    traced_loop("demo")
    newest = json.loads(traced_loop("runs", "--json").out.splitlines()[0])["run_id"]
    return home / "spans" / f"{newest}{ENDED_SUFFIX}"


def test_runs_that_keep_the_promises_are_one_line(home: Path, spans: Path) -> None:
    """Of a run, of a whole store."""
    assert spans.exists()
    one, every = traced_loop("conform"), traced_loop("conform", str(home))

    assert (one.code, one.out) == (0, "0 violations in 0 of 1 run\n")
    assert (every.code, every.out) == (0, "0 violations in 0 of 4 runs\n")


def test_a_broken_promise_is_a_line_and_exit_code_1(spans: Path, tmp_path: Path) -> None:
    """A result that never went into the history."""
    lines = [line for line in spans.read_text().splitlines(keepends=True) if "append_results" not in line]
    damaged = tmp_path / "damaged{ENDED_SUFFIX}"
    damaged.write_text("".join(lines))

    ended, as_json = traced_loop("conform", str(damaged)), traced_loop("conform", str(damaged), "--json")

    assert (ended.code, as_json.code) == (1, 1)
    assert "one_result" in ended.out
    assert {violation["rule"] for violation in as_json.json["violations"]} == {"one_result", "spans_whole"}


def test_a_run_that_still_runs_is_no_violation(home: Path) -> None:
    """What is promised of its end is left out and said; the exit code is 0, and `diagnose` says that it runs."""
    telemetry = Telemetry(clock=CountedClock(), sink=TraceStore(Store.open(home), {}))
    with telemetry.run(telemetry.scope("run-1"), "invoke_agent a", {names.GEN_AI_OPERATION: names.INVOKE_AGENT}):
        held, diagnosed, listed = traced_loop("conform"), traced_loop("diagnose"), traced_loop("runs", "--json")
        every = traced_loop("conform", str(home))

    assert (held.code, every.code) == (0, 0)
    assert "run-1  not ended: 6 checks left out" in held.out
    assert "still running" in diagnosed.out
    assert listed.json["state"] == "running"
