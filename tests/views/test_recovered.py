"""What is shown of runs that were brought to their end."""

from traced_loop.recovery.recover import Recovered
from traced_loop.views.recovered import recovered, recovered_json

RUNS = [
    Recovered(run_id="run-1", doing="execute_tool pay (call_1)", spans=3, unknown_calls=("call_1", "c\x1b[2J")),
    Recovered(run_id="run-2"),
]


def test_every_run_is_a_line_and_every_unknown_write_one_below_it() -> None:
    """Text of the trace is safe for a terminal."""
    assert [line.plain for line in recovered(RUNS)] == [
        "run-1  died in execute_tool pay (call_1)  3 spans ended",
        "  the write call_1 may have been applied: find out before it is run again",
        "  the write c\\x1b[2J may have been applied: find out before it is run again",
        "run-2  0 spans ended",
    ]


def test_lines_fit_a_narrow_terminal() -> None:
    """Words are kept whole."""
    assert all(line.cell_len <= 40 for line in recovered(RUNS, width=40))


def test_programs_get_every_field() -> None:
    """The text as it was recorded: JSON escapes it."""
    assert recovered_json(RUNS[1]) == {"run_id": "run-2", "doing": "", "spans": 0, "unknown_calls": []}
