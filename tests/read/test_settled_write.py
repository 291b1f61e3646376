"""What is known by now of a write, in words and for programs."""

from __future__ import annotations

import pytest

from traced_loop.read.settled_write import Settled, SettledWrite

AT = 1_790_000_000 * 1_000_000_000


@pytest.mark.parametrize(
    ("state", "by", "note", "said"),
    [
        ("done", "ann", "ticket 5", "was applied, said by ann on 2026-09-21 14:13:20 UTC (ticket 5)"),
        ("not_done", "reconcile", "", "was not applied, as its tool found out on 2026-09-21 14:13:20 UTC"),
        ("undone", "loop", "", "was applied and undone again, as its run recorded on 2026-09-21 14:13:20 UTC"),
    ],
)
def test_it_says_what_came_of_it_and_who_says_so(state: Settled, by: str, note: str, said: str) -> None:
    """And since when, and how they know where that was given."""
    assert SettledWrite(call_id="c", tool="pay", state=state, by=by, note=note, at_ns=AT).text == said


def test_programs_get_the_same_with_null_for_what_was_not_given() -> None:
    """The time is ISO 8601."""
    assert SettledWrite(call_id="c", tool="pay", state="done", by="ann", at_ns=AT).json() == {
        "call_id": "c",
        "tool": "pay",
        "state": "done",
        "by": "ann",
        "note": None,
        "at": "2026-09-21T14:13:20.000000Z",
    }
