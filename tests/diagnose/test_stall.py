"""Waits that took much of a run are told with what it waited for; small ones are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from traced_loop.diagnose.finding import Finding, FindingKind
from traced_loop.diagnose.stall import stalls
from traced_loop.diagnose.time_books import Piece, TimeBooks, TimeKind, time_books
from traced_loop.read.agent_run import AgentRun, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.span_tree import build

SECOND = 10**9


def run_of(
    seconds: float, requests: list[tuple[float, float]] | None = None, calls: list[dict[str, Any]] | None = None
) -> AgentRun:
    """A run of so many seconds, with requests from and to, and calls with these fields."""

    def ns(moment: float) -> int:
        return SECOND + round(moment * SECOND)

    return AgentRun(
        id="r",
        dialect="gen_ai",
        trace=build([]),
        start_ns=ns(0),
        end_ns=ns(seconds),
        requests=[
            StoredRequest(span=("t", f"r{n}"), step=n, start_ns=ns(start), end_ns=ns(end))
            for n, (start, end) in enumerate(requests or [], 1)
        ],
        calls=[
            StoredCall(
                index=n,
                spans=(("t", f"c{n}"),),
                ran=True,
                **{**fields, "start_ns": ns(fields["start_ns"]), "end_ns": ns(fields["end_ns"])},
            )
            for n, fields in enumerate(calls or [])
        ],
    )


def found_in(run: AgentRun) -> list[Finding]:
    """What stands out."""
    return stalls(run, time_books(run))


def call(tool: str, start: float, end: float, **more: Any) -> dict[str, Any]:
    """One call from and to."""
    return {"tool": tool, "start_ns": start, "end_ns": end, **more}


def test_what_is_short_or_a_small_part_is_not_told() -> None:
    """Below a second, or below a fifth of the run for a tool."""
    assert found_in(run_of(1, [(0, 0.1)], [call("look", 0.1, 0.9)])) == []
    assert found_in(run_of(100, [(0, 60)] * 1 + [(60, 88)], [call("look", 88, 100)])) == found_in(
        run_of(100, [(0, 60), (60, 88)])
    )


def test_calls_of_one_tool_are_told_together() -> None:
    """With how many there were, and the longest; the cheapest change is to ask for several at once."""
    run = run_of(20, [(0, 1)], [call("look", 1, 6, step=1), call("look", 6, 18, step=2)])

    [found] = [finding for finding in found_in(run) if finding.kind is FindingKind.SLOW_TOOL]

    assert found.title == "look took 17 s (85 % of the run) in 2 calls, the longest 12 s"
    assert (found.cost_ns, found.calls) == (17 * SECOND, (1, 0))
    assert "several things at once" in found.prevent


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        ([(0, 40)], True),
        ([(0, 20)], False),
        ([(0, 1), (1, 2), (2, 3), (3, 15)], True),
        ([(0, 10), (10, 20), (20, 30), (30, 42)], False),
    ],
    ids=["very long", "long and alone", "far longer than the others", "as long as the others"],
)
def test_a_request_is_slow_at_all_or_beside_the_others(requests: list[tuple[float, float]], *, told: bool) -> None:
    """Models take their time; what is usual is no finding."""
    found = [finding.kind for finding in found_in(run_of(requests[-1][1], requests))]
    assert (FindingKind.SLOW_MODEL in found) is told


def test_tries_that_failed_are_told_with_their_errors() -> None:
    """A request that hung twice before it was answered."""
    run = run_of(70, [(0, 70)])
    tries = (
        StoredAttempt(span=("t", "a1"), start_ns=SECOND, end_ns=31 * SECOND, error_type="timeout"),
        StoredAttempt(span=("t", "a2"), start_ns=31 * SECOND, end_ns=61 * SECOND, error_type="timeout"),
        StoredAttempt(span=("t", "a3"), start_ns=61 * SECOND, end_ns=71 * SECOND),
    )
    run = replace(run, requests=[replace(run.requests[0], attempts=tries)])

    [found] = found_in(run)

    assert found.kind is FindingKind.FAILED_TRIES
    assert found.title == "tries that failed (timeout) took 1 min (86 % of the run): 2 of them"
    assert found.evidence == ("a1", "a2")


def test_the_reason_of_a_queue_decides_what_to_change() -> None:
    """Whoever held the others back is named."""

    def queue(reason: str) -> Finding:
        batch = [
            call("first", 0, 10, step=1, turn=1, mode="barrier", mode_reason=reason, queued_ns=0),
            call("second", 10, 18, step=1, turn=2, mode="serial", mode_reason=reason, queued_ns=10 * SECOND),
        ]
        [found] = [each for each in found_in(run_of(18, calls=batch)) if each.kind is FindingKind.QUEUE]
        return found

    assert queue("write").cost_ns == 8 * SECOND
    assert "effect='read'" in queue("write").prevent
    assert "max_parallel" in queue("max_parallel").prevent
    assert "serial_group" in queue("serial_group").prevent
    assert "instead of a person" in queue("confirmation").prevent
    assert "second waited 10 s for its turn, behind first (write)" in queue("write").title


def test_a_slow_tool_beside_a_short_one_in_turn_is_a_slow_tool() -> None:
    """What running in turn cost is not worth a word then."""
    batch = [
        call("first", 0, 40, step=1, turn=1, mode="barrier", mode_reason="write", queued_ns=0),
        call("second", 40, 40.5, step=1, turn=2, mode="serial", mode_reason="write", queued_ns=40 * SECOND),
    ]
    assert [finding.kind for finding in found_in(run_of(40.5, calls=batch))] == [FindingKind.SLOW_TOOL]


def test_time_under_no_span_is_told_where_it_is_much() -> None:
    """A fifth of the run and more."""
    [found] = found_in(run_of(10, [(0, 2)]))
    assert (found.kind, found.cost_ns) == (FindingKind.UNACCOUNTED, 8 * SECOND)


def test_a_part_is_one_of_the_time_that_is_meant() -> None:
    """Of a resumed run its own time without the pauses; of one whose end is not known there is no part to tell."""
    run = run_of(20, calls=[call("look", 2, 10)])
    books = time_books(run)
    pause = Piece(
        kind=TimeKind.DOWNTIME, start_ns=11 * SECOND, end_ns=21 * SECOND, wall_ns=10 * SECOND, is_between=True
    )

    def title(changed: TimeBooks) -> str:
        [found] = [each for each in stalls(run, changed) if each.kind is FindingKind.SLOW_TOOL]
        return found.title

    assert title(books) == "look took 8 s (40 % of the run)"
    assert title(replace(books, pieces=(*books.pieces, pause))) == "look took 8 s (80 % of the run's own time)"
    assert title(replace(books, is_whole=False)) == "look took 8 s"
