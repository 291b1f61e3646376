"""The list of runs."""

from datetime import UTC, datetime
from decimal import Decimal

from traced_loop.read.run_entry import RunEntry
from traced_loop.views.run_table import run_table

RUNS = [
    RunEntry(
        run_id="20261129T224601-9f3a2c1d",
        agent="support",
        model="gpt-5-mini",
        started_at=datetime(2026, 11, 29, 22, 46, 1, tzinfo=UTC),
        seconds=125.0,
        steps=8,
        tokens=123_456,
        cost_usd=Decimal("0.0012"),
        stop_reason="token_budget_exceeded",
        flagged=True,
        state="ended",
    ),
    RunEntry(run_id="20261129T224500-00000000", state="died"),
    RunEntry(run_id="x\x1b[2J", state="running"),
]


def test_a_narrow_terminal_gets_the_columns_that_matter() -> None:
    """Unknown is said; text is safe; a stop reason that does not fit stands below."""
    assert [line.plain for line in run_table(RUNS, width=80)] == [
        "RUN                            TOOK    STEPS   TOKENS     COST  STOP REASON",
        "20261129T224601-9f3a2c1d  2 min 5 s        8  123,456  $0.0012",
        "  token_budget_exceeded (repeats)",
        "20261129T224500-00000000    unknown  unknown  unknown  unknown  died",
        "x\\x1b[2J                    unknown  unknown  unknown  unknown  running",
    ]


def test_a_run_that_died_took_longer_than_its_last_sign() -> None:
    """Where even that is less than a millisecond nothing is known."""
    died = [RunEntry(run_id=f"run-{n}", state="died", seconds_at_least=least) for n, least in enumerate((0.003, 0.0))]

    assert [line.plain.split()[1] for line in run_table(died, width=60)] == ["TOOK", ">3", "unknown"]


def test_a_pipe_gets_all_columns() -> None:
    """One line a run."""
    heading, first, *_ = (line.plain for line in run_table(RUNS))

    assert heading.split() == ["RUN", "STARTED", "TOOK", "STEPS", "TOKENS", "COST", "MODEL", "AGENT", "STOP", "REASON"]
    assert "2026-11-29 22:46:01 UTC" in first
