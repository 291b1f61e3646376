"""The rows of a decision table."""

import pytest

from traced_loop.rules.decision_table import Row, with_waits


def row(place: int, turn: int | None) -> Row:
    """A call with that turn."""
    return Row(place=place, call_id=f"c{place}", tool="t", turn=turn)


@pytest.mark.parametrize(
    ("turns", "waits"),
    [
        ([1, 1, 2, 3], [(), (), ("c1", "c2"), ("c3",)]),
        ([None, 1, None, 2], [(), (), (), ("c2",)]),
        ([1, 4], [(), ("c1",)]),
        ([], []),
    ],
    ids=["in_order", "calls_without_a_turn", "turns_left_out", "nothing"],
)
def test_a_call_waits_for_the_last_turn_before_its_own(turns: list[int | None], waits: list[tuple[str, ...]]) -> None:
    """Which has waited for those before it; a call without a turn waits for nothing."""
    rows = with_waits([row(place, turn) for place, turn in enumerate(turns, 1)])
    assert [found.waits_for for found in rows] == waits


def test_a_call_asks_at_its_turn_only() -> None:
    """One that never comes to its turn asks nobody."""
    asking = Row(place=1, call_id="c1", tool="t", decision="needs_confirmation")
    assert not asking.asks
    assert Row(place=1, call_id="c1", tool="t", decision="needs_confirmation", turn=1).asks
    assert Row(place=1, call_id="c1", tool="t", decision="needs_confirmation", confirmation="pending").asks
    assert not Row(place=1, call_id="c1", tool="t", decision="allow", turn=1).asks
