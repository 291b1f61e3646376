"""What a stored run says of its own record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from traced_loop import names
from traced_loop.closed_words import Anomaly
from traced_loop.read.local_store import StoredRun
from traced_loop.read.receipt_counts import (
    ReceiptCounts,
    doubtful_writes,
    noted_anomalies,
    receipt_counts,
    receipt_parts,
)
from traced_loop.read.run_entry import RunEntry, RunState
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan, StoredTrace

ROOT = {names.GEN_AI_OPERATION: names.INVOKE_AGENT}
WRITE = {names.GEN_AI_OPERATION: names.EXECUTE_TOOL, names.EFFECT: "write"}


def span(span_id: str, attributes: dict[str, Any], parent: str = "", **more: Any) -> StoredSpan:
    """One span of the only trace."""
    times = {"start_ns": 1, "end_ns": 2, **more}
    return StoredSpan(trace_id="a", span_id=span_id, parent_id=parent, attributes=attributes, **times)


def trace(*spans: StoredSpan) -> StoredTrace:
    """These spans in their places."""
    return build(spans)


def test_spans_that_were_begun_and_are_not_here_are_missing() -> None:
    """The receipt of the run's own span knows how many there were."""
    receipt = {names.RECEIPT_STARTED: 3, names.RECEIPT_TRUNCATED: 1, names.RECEIPT_REDACTED: 2}

    counts = receipt_counts(trace(span("1", {**ROOT, **receipt}), span("2", {}, "1")))

    assert counts == ReceiptCounts(here=2, started=3, cut=1, masked=2)
    assert counts.missing == 1


def test_a_run_without_an_end_has_no_receipt() -> None:
    """Only what is here can be counted; nothing is said to be missing."""
    counts = receipt_counts(trace(span("1", ROOT, end_ns=0, is_open=True)))

    assert counts == ReceiptCounts(here=1)
    assert counts.missing == 0


def test_each_oddity_is_named_once_and_words_of_later_versions_are_left_out() -> None:
    """Several spans can have the same."""
    odd = {names.ANOMALIES: "usage_missing,id_duplicate,of_tomorrow"}

    assert noted_anomalies(trace(span("1", odd), span("2", odd))) == [Anomaly.ID_DUPLICATE, Anomaly.USAGE_MISSING]


@pytest.mark.parametrize(("state", "doubtful"), [("running", []), ("died", ["2"]), ("unknown", ["2"]), ("ended", [])])
def test_an_open_write_is_in_doubt_once_its_process_is_gone(state: RunState, doubtful: list[str]) -> None:
    """While the process lives it may still end; a read never changes anything."""
    read = {**WRITE, names.EFFECT: "read"}
    found = trace(
        span("1", ROOT),
        span("2", WRITE, "1", end_ns=0, is_open=True),
        span("3", read, "1", end_ns=0, is_open=True),
    )
    run = StoredRun(entry=RunEntry(run_id="r", state=state), trace=found)

    assert [each.span_id for each in doubtful_writes(run)] == doubtful


def test_a_write_whose_outcome_is_unknown_is_always_in_doubt() -> None:
    """Also of a run that ended in good order."""
    found = trace(span("1", ROOT), span("2", {**WRITE, names.CALL_OUTCOME: "unknown"}, "1"))

    run = StoredRun(entry=RunEntry(run_id="r", state="ended"), trace=found)
    assert [each.span_id for each in doubtful_writes(run)] == ["2"]


def test_a_resumed_run_is_counted_part_by_part() -> None:
    """Each trace by its own receipt; one that died has none, and a run that another calls is part of its trace."""
    receipt, inner = {names.RECEIPT_STARTED: 3, names.RECEIPT_TRUNCATED: 1}, {names.RECEIPT_STARTED: 1}
    later = [span("3", {**ROOT, **receipt}, start_ns=5), span("4", {**ROOT, **inner}, "3", start_ns=6)]
    died = [span("1", ROOT, end_ns=0, is_open=True), span("2", {}, "1")]
    parts = receipt_parts(trace(*(replace(each, trace_id="b") for each in later), *died))

    assert parts == (ReceiptCounts(here=2), ReceiptCounts(here=2, started=3, cut=1))
    assert receipt_parts(trace(*died)) == (ReceiptCounts(here=2),)
