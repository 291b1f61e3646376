"""Sums of runs: what is unknown is counted, and added to nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from traced_loop.read.run_choice import RunChoice
from traced_loop.read.run_list import RunList
from traced_loop.read.run_sums import Amount, RunSums, sums_of

from .many_runs import SECOND, died, running, stored

if TYPE_CHECKING:
    from pathlib import Path


def test_no_runs_come_to_nothing_and_their_cost_is_unknown() -> None:
    """Nothing has been paid of which anybody knows."""
    assert sums_of([]) == RunSums()
    assert sums_of([]).cost_usd is None


def test_unknown_costs_are_counted_and_not_zero(tmp_path: Path) -> None:
    """Two of three are known."""
    stored(tmp_path, {"a": {"cost_microusd": 1}, "b": {"cost_microusd": None}, "c": {"cost_microusd": 2_500_000}})

    sums = RunList(tmp_path).look().choose(RunChoice()).sums

    assert sums.cost_usd == Decimal("2.500001")
    assert sums.microusd == Amount(total=2_500_001, unknown=1)


def test_a_cost_that_is_known_of_no_run_is_unknown(tmp_path: Path) -> None:
    """It is not zero."""
    stored(tmp_path, {"a": {"cost_microusd": None}})
    assert RunList(tmp_path).look().choose(RunChoice()).sums.cost_usd is None


def test_each_state_and_each_reason_is_counted(tmp_path: Path) -> None:
    """Reasons only of those that ended, the most frequent first; the time of those without an end is unknown."""
    kinds = {"a": {}, "b": {"stop_reason": "cancelled", "flagged": 1}, "c": {}, "d": {"stop_reason": None}}
    stored(tmp_path, {**kinds, "e": running(), "f": died()})

    sums = RunList(tmp_path).look().choose(RunChoice()).sums

    assert sums.states == (("died", 1), ("ended", 4), ("running", 1))
    assert sums.stop_reasons == (("final_answer", 2), (None, 1), ("cancelled", 1))
    assert (sums.runs, sums.flagged) == (6, 1)
    assert sums.nanoseconds == Amount(total=4 * SECOND, unknown=2)


def test_the_time_of_a_recovered_run_is_unknown(tmp_path: Path) -> None:
    """It ends with its last sign of life: nobody knows how long it took, so it is not added, and comes last."""
    stored(tmp_path, {"a": {}, "b": {"stop_reason": "unknown_after_crash"}})

    chosen = RunList(tmp_path).look().choose(RunChoice(order="took", descending=False))

    assert chosen.sums.nanoseconds == Amount(total=SECOND, unknown=1)
    assert [(run.run_id, run.seconds, run.seconds_at_least) for run in chosen.entries] == [
        ("a", 1.0, None),
        ("b", None, 1.0),
    ]


def test_numbers_that_are_too_large_to_be_added_are_no_error(tmp_path: Path) -> None:
    """An integer of the index can be as large as SQLite holds; the sum is of the right size."""
    most = 2**63 - 1
    stored(tmp_path, {name: {"tokens": most} for name in "abcd"})
    assert RunList(tmp_path).look().choose(RunChoice()).sums.tokens.total == 2**65
