"""Times as people write them, and which runs are wanted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.trace import StoredTrace
from traced_loop.read.unreadable import Unreadable
from traced_loop.read.wanted import Wanted, since

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", NOW - timedelta(seconds=90)),
        ("30m", NOW - timedelta(minutes=30)),
        (" 6 h ", NOW - timedelta(hours=6)),
        ("2d", NOW - timedelta(days=2)),
        ("1w", NOW - timedelta(days=7)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T10:00", datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ("2026-11-01T10:00+02:00", datetime(2026, 11, 1, 10, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_time_is_read_as_people_write_it(text: str, expected: datetime) -> None:
    """So long ago, or a date; without a zone it is UTC."""
    assert since(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "5", "-3h", "999999w", "2026-13-01", "h"])
def test_what_is_no_time_is_said(text: str) -> None:
    """With the forms that are one."""
    found = since(text, NOW)
    assert isinstance(found, Unreadable)
    assert "30m" in found.text


def test_a_run_without_times_is_wanted_since_any_time() -> None:
    """Nobody knows that it is older."""
    run = AgentRun(id="r", dialect="messages", trace=StoredTrace())
    assert Wanted(since=NOW).takes(run)


def test_a_short_beginning_of_an_id_is_not_enough() -> None:
    """Seven characters fit too many; the whole id may be shorter."""
    run = AgentRun(id="0123456789", dialect="messages", trace=StoredTrace())
    assert not Wanted(run="0123456").takes(run)
    assert Wanted(run="01234567").takes(run)
    assert Wanted(run="0123456789").takes(run)
