"""The time between two parts of a run is a person's, or nobody's; the run itself has not spent it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.diagnose.between_parts import between_parts
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import FindingKind, Severity
from traced_loop.diagnose.time_books import TimeKind
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.testing import calls

from .stored_runs import SECOND

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.trace import StoredSpan

GAP = 360 * SECOND


@tool(effect="write")
def reserve() -> str:
    """Is asked about."""
    return "reserved"


def resumed_run(gap: int, *, answer: str = "confirm") -> AgentRun:
    """A run that stopped for a person and went on, its second part moved so far into the future."""
    first = Loop(ScriptedModel([calls(("reserve", {}))]), [reserve]).run("Go.")
    said = {"confirm": ["call_1"]} if answer == "confirm" else {"reject": ["call_1"]}
    Loop(ScriptedModel(["42"]), [reserve]).resume(
        first.run_id, confirm=said.get("confirm", ()), reject=said.get("reject", ())
    )
    with LocalStore.open() as store:
        spans = store.run(first.run_id).trace.spans
    last = max((span for span in spans if span.is_run), key=lambda span: span.start_ns).trace_id
    return our_run(build([later(span, gap) if span.trace_id == last else span for span in spans]))


def later(span: StoredSpan, by: int) -> StoredSpan:
    """The same span at a later time."""
    return replace(span, start_ns=span.start_ns + by, end_ns=span.end_ns + by)


@pytest.mark.parametrize("answer", ["confirm", "reject"])
def test_a_run_that_was_stopped_for_a_person_waited_for_one_between_its_parts(home: Path, answer: str) -> None:
    """Also where its process was gone meanwhile; nothing of that time is unaccounted, and no callback is to blame."""
    found = diagnose(resumed_run(GAP, answer=answer))
    books = found.time

    assert sum(books.wall_ns.values()) == books.duration_ns
    assert books.wall_ns[TimeKind.CONFIRMATION] >= GAP
    assert books.wall_ns[TimeKind.UNACCOUNTED] < SECOND
    assert books.active_ns < 60 * SECOND
    assert FindingKind.UNACCOUNTED not in {finding.kind for finding in found.findings}
    [wait] = [finding for finding in found.findings if finding.kind is FindingKind.CONFIRMATION]
    assert (wait.severity, wait.prevent) == (Severity.NOTE, "")
    assert wait.title.startswith("the run was stopped for 6 min")
    assert "until a person had decided about reserve" in wait.title
    assert found.is_healthy
    longest = books.longest()
    assert longest is not None
    assert (longest.kind, longest.is_between) == (TimeKind.CONFIRMATION, True)


def test_after_any_other_stop_the_time_between_is_downtime(home: Path) -> None:
    """Nobody waited for anything: it is no finding and no longest wait."""
    run = resumed_run(GAP)
    first = min((span for span in run.trace.spans if span.is_run), key=lambda span: span.start_ns)
    stopped = replace(first, attributes={**first.attributes, names.RUN_STOP_REASON: "max_steps_exceeded"})
    found = diagnose(our_run(build([stopped if span.key == first.key else span for span in run.trace.spans])))

    assert found.time.wall_ns[TimeKind.DOWNTIME] >= GAP
    assert sum(found.time.wall_ns.values()) == found.time.duration_ns
    assert FindingKind.CONFIRMATION not in {finding.kind for finding in found.findings}
    longest = found.time.longest()
    assert longest is None or longest.wall_ns < GAP


def test_what_a_part_that_died_left_open_ends_with_that_part(home: Path) -> None:
    """Its open spans do not last until the end of the run that went on."""
    run = resumed_run(GAP)
    first = min((span for span in run.trace.spans if span.is_run), key=lambda span: span.start_ns)
    died = [
        replace(span, end_ns=0, is_open=True) if span.trace_id == first.trace_id else span for span in run.trace.spans
    ]
    books = diagnose(our_run(build(died))).time

    assert sum(books.wall_ns.values()) == books.duration_ns
    assert books.wall_ns[TimeKind.MODEL] < SECOND
    assert sum(books.wall_ns[kind] for kind in (TimeKind.CONFIRMATION, TimeKind.DOWNTIME)) >= GAP


def test_a_run_of_one_part_has_nothing_between(home: Path) -> None:
    """Nor has one whose parts follow each other at once."""
    result = Loop(ScriptedModel(["42"]), [reserve]).run("Go.")
    with LocalStore.open() as store:
        assert between_parts(our_run(store.run(result.run_id).trace)) == ()
