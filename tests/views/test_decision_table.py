"""A decision table on a terminal and for programs."""

import json

import pytest

from traced_loop.rules.decision_table import DecisionTable, Row
from traced_loop.views.decision_table import decision_json, decision_lines

ROW = Row(
    place=1,
    call_id="call\x1b[2J\n1",
    tool="save",
    effect="write",
    validation="valid",
    decision="needs_confirmation",
    rule="my\u202erule",
    reason="writes are confirmed",
    turn=2,
    mode="barrier",
    why="write",
    waits_for=("call_0",),
)
TABLE = DecisionTable(rows=(ROW, Row(place=2, call_id="c2", tool="_unknown")), stop="cancelled", detail="a\nb")


def test_a_row_is_a_line() -> None:
    """Everything that is known, a dash for the rest, and the stop below; hostile texts move nothing."""
    heading, first, second, stop = [line.plain for line in decision_lines(TABLE)]
    assert heading.split()[:3] == ["#", "CALL", "TOOL"]
    assert first.split()[:5] == ["1", "call\\x1b[2J\\n1", "save", "write", "valid"]
    assert first.rstrip().endswith("2     barrier  write  call_0, a person  -")
    assert "needs_confirmation (my\\u202erule: writes are confirmed)" in first
    assert second.split() == ["2", "c2", "_unknown", *"--------"]
    assert stop == "stops the run  cancelled: a\\nb"


@pytest.mark.parametrize("width", [24, 40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Where the table has no room, the words go below one another."""
    lines = decision_lines(TABLE, width=width)
    assert all(line.cell_len <= width for line in lines if width > 24)
    assert "barrier" in "".join(line.plain for line in lines)


def test_programs_get_every_field() -> None:
    """Null for what is not known; JSON all through."""
    value = decision_json(TABLE)
    assert json.loads(json.dumps(value)) == value
    assert value["stop"] == {"reason": "cancelled", "detail": "a\nb"}
    assert (value["calls"][0]["asks_a_person"], value["calls"][1]["decision"]) == (True, None)
    assert decision_json(DecisionTable()) == {"calls": [], "stop": None}
