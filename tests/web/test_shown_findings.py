"""A diagnosis as a page shows it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from traced_loop import names
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.read.run_entry import utc
from traced_loop.read.span_tree import build
from traced_loop.read.stored_agent_run import as_seen
from traced_loop.web.shown_findings import MAX_FINDINGS, ShownDiagnosis, ShownNumber, shown_diagnosis

from .sample_runs import doubtful_run, plain_run, stored

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop import RunResult
    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.run_entry import RunState


def read(home: Path, result: RunResult) -> AgentRun:
    """The run as the store has it."""
    with LocalStore.open(home) as store:
        return our_run(store.trace(result.run_id))


def shown(run: AgentRun) -> ShownDiagnosis:
    """Its diagnosis."""
    return shown_diagnosis(diagnose(run))


def test_a_finding_leads_to_spans_of_the_trace(home: Path) -> None:
    """Each is called by its call, else by its name."""
    run = read(home, doubtful_run(home))

    found = shown(run)

    spans = {span.span_id for span in run.trace.spans}
    evidence = [each for finding in found.findings for each in finding.evidence]
    assert {each.span_id for each in evidence} <= spans
    assert {each.text for each in evidence} == {"refund (call_1)", "refund (call_2)", "invoke_agent refunds"}
    assert not found.is_healthy


def test_the_bar_of_times_is_filled_and_the_longest_comes_first(home: Path) -> None:
    """Its pieces stand side by side."""
    found = shown(read(home, plain_run(home)))

    amounts = [share.wall_ns for share in found.times]
    assert sum(amounts) == found.duration_ns
    assert amounts == sorted(amounts, reverse=True)
    assert abs(sum(share.width for share in found.times) - 1_000) < 1
    assert all(round(a.x + a.width, 2) == b.x for a, b in zip(found.times, found.times[1:], strict=False))


def test_a_healthy_run_has_no_findings(home: Path) -> None:
    """It says what its trace cannot tell all the same."""
    found = shown(read(home, stored(home, ["done"])))

    assert (found.findings, found.is_healthy) == ((), True)
    assert found.gaps == ("no_first_token",)


@pytest.mark.parametrize("state", ["running", "died", "unknown"])
def test_a_run_without_an_end_is_never_healthy_and_says_as_of_when_it_is_shown(home: Path, state: RunState) -> None:
    """Of one that runs nothing can be missing about its end; of another one it is said once, by its finding."""
    run = read(home, plain_run(home))
    own = run.trace.run_span()
    assert own is not None
    spans = [replace(span, is_open=True, end_ns=0) if span is own else span for span in run.trace.spans]
    bare = {key: value for key, value in own.attributes.items() if key != names.RUN_STOP_REASON}
    spans[spans.index(replace(own, is_open=True, end_ns=0))] = replace(own, is_open=True, end_ns=0, attributes=bare)
    found = shown(as_seen(our_run(build(spans)), state, run.end_ns + 30_000_000_000))

    said = [*found.gaps, *(gap for finding in found.findings for gap in finding.untold)]
    assert (found.is_healthy, found.is_running) == (False, state == "running")
    assert said.count("no_stop_reason") == (0 if state == "running" else 1)
    assert found.as_of == utc(run.end_ns + 30_000_000_000 if state == "running" else build(spans).last_ns)


def test_a_number_is_shown_in_the_unit_of_its_name(home: Path) -> None:
    """Without a unit it is a count."""
    numbers = {
        "wall_ns": 1_500_000_000,
        "cost_usd": Decimal("0.25"),
        "told_bytes": 2_048,
        "input_tokens": 1_000,
        "longest_seconds": 2.5,
        "calls": 3,
        "part": 0.25,
    }
    diagnosis = diagnose(read(home, plain_run(home)))
    finding = Finding(kind=FindingKind.GROWTH, severity=Severity.WASTE, title="x", numbers=numbers)

    [told] = shown_diagnosis(replace(diagnosis, findings=(finding,))).findings

    assert told.numbers == (
        ShownNumber(name="wall", text="1.5 s"),
        ShownNumber(name="cost", text="$0.2500"),
        ShownNumber(name="told", text="2,048 bytes"),
        ShownNumber(name="input", text="1,000 tokens"),
        ShownNumber(name="longest", text="2.5 s"),
        ShownNumber(name="calls", text="3"),
        ShownNumber(name="part", text="0.25"),
    )


def test_a_flood_of_findings_is_cut_and_counted(home: Path) -> None:
    """The page stays one that can be read."""
    diagnosis = diagnose(read(home, plain_run(home)))
    finding = Finding(kind=FindingKind.GROWTH, severity=Severity.WASTE, title="x")

    found = shown_diagnosis(replace(diagnosis, findings=(finding,) * (MAX_FINDINGS + 7)))

    assert (len(found.findings), found.left_out) == (MAX_FINDINGS, 7)
