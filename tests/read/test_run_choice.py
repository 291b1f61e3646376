"""Which runs are chosen, and in which order."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.read.run_choice import ORDERS, RunChoice, condition_of
from traced_loop.read.run_list import RunList

from .many_runs import BEGAN, SECOND, died, running, stored

if TYPE_CHECKING:
    from pathlib import Path

RUNS: dict[str, dict[str, Any]] = {
    "20260921T1-aa": {"model": "gpt-5", "agent": "b", "session_id": "s", "cost_microusd": 5, "trace_id": "c" * 32},
    "20260921T2-bb": {"model": "GPT-5", "agent": "", "cost_microusd": None, "flagged": 1, "steps": 9},
    "20260921T3-cc": {"model": "a", "agent": "A", "stop_reason": "cancelled", "tokens": None, "tool_calls": 0},
    "20260921T4-dd": died(agent="c"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> RunList:
    """Of one store."""
    return RunList(stored(tmp_path_factory.mktemp("store"), RUNS))


def ids(runs: RunList, **choice: Any) -> str:
    """The ends of the ids of what is chosen, in order."""
    return " ".join(entry.run_id[-2:] for entry in runs.look().choose(RunChoice(**choice)).entries)


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        ({}, "dd cc bb aa"),
        ({"text": "t2-B"}, "bb"),
        ({"text": "CCCC"}, "aa"),
        ({"text": "%"}, ""),
        ({"states": frozenset({"died"})}, "dd"),
        ({"states": frozenset({"ended", "running"})}, "cc bb aa"),
        ({"stop_reasons": frozenset({"cancelled", "refused"})}, "cc"),
        ({"models": frozenset({"gpt-5"})}, "aa"),
        ({"models": frozenset()}, ""),
        ({"agents": frozenset({"A", "c"})}, "dd cc"),
        ({"sessions": frozenset({"s"})}, "aa"),
        ({"flagged": True}, "bb"),
        ({"flagged": False}, "dd cc aa"),
        ({"cost_from": Decimal("0.000005")}, "cc aa"),
        ({"cost_from": Decimal("0.0000051")}, "cc"),
        ({"cost_to": Decimal("0.0000059")}, "aa"),
        ({"cost_from": Decimal(0), "cost_to": Decimal("1e300")}, "cc aa"),
        ({"from_ns": BEGAN + 60 * SECOND, "to_ns": BEGAN + 120 * SECOND}, "bb"),
        ({"from_ns": -(10**30), "to_ns": 10**30}, "dd cc bb aa"),
        ({"text": "\ud800"}, ""),
    ],
)
def test_all_of_a_choice_has_to_fit(runs: RunList, choice: dict[str, Any], chosen: str) -> None:
    """Bounds are inclusive, but for the end of the time; what is unknown fits no bound."""
    assert ids(runs, **choice) == chosen


@pytest.mark.parametrize(
    ("order", "ascending", "descending"),
    [
        ("run", "aa bb cc dd", "dd cc bb aa"),
        ("cost", "aa cc dd bb", "cc aa dd bb"),
        ("steps", "cc aa bb dd", "bb cc aa dd"),
        ("tokens", "bb aa dd cc", "bb aa dd cc"),
        ("model", "cc bb aa dd", "dd bb aa cc"),
        ("agent", "cc aa dd bb", "dd aa cc bb"),
        ("session", "aa dd cc bb", "aa dd cc bb"),
        ("stop", "cc dd bb aa", "bb aa dd cc"),
        ("flagged", "dd cc aa bb", "bb dd cc aa"),
        ("took", "cc bb aa dd", "cc bb aa dd"),
    ],
)
def test_what_is_unknown_comes_last_and_equal_ones_newest_first(
    runs: RunList, order: Any, ascending: str, descending: str
) -> None:
    """In either direction; letters of either case stand together."""
    assert ids(runs, order=order, descending=False) == ascending
    assert ids(runs, order=order, descending=True) == descending


def test_what_still_runs_is_first_in_every_order(tmp_path: Path) -> None:
    """Also where it has nothing to be ordered by."""
    runs = RunList(stored(tmp_path, {"aa": running(), "bb": {}, "cc": {}}))
    for order in ORDERS:
        for descending in (True, False):
            assert ids(runs, order=order, descending=descending).startswith("aa ")


@given(st.text(), st.frozensets(st.text(), max_size=3))
def test_no_text_becomes_a_part_of_the_query(text: str, found: frozenset[str]) -> None:
    """What is asked for is among the values, never in the statement."""
    asked = condition_of(RunChoice(text=text, models=found, agents=found, sessions=found, stop_reasons=found))
    plain = condition_of(RunChoice(text="x", models=frozenset(), agents=found, sessions=found, stop_reasons=found))
    assert asked.text == (plain.text if text else plain.text.partition(" AND ")[2])
