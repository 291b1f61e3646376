"""`demo`: four runs with their traces, all in the store, readable in any width."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from traced_loop.scenarios.demo_runs import demo_runs

from ..command_line import Ended, traced_loop
from ..export.collector import collector

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


MARGIN = 52
"""Cells that the deepest line of a tree may need, whatever the terminal has."""


def runs_in(ended: Ended) -> list[str]:
    """The run ids that the headers name."""
    return re.findall(r"^run +(\S+)", ended.out, re.MULTILINE)


def test_four_runs_are_told_and_stored() -> None:
    """Each has its title, what to look at and its trace; `runs` lists them all afterwards."""
    ended = traced_loop("demo")
    assert ended.code == 0
    for number, run in enumerate(demo_runs(), 1):
        assert f"{number} of 4  {run.title}\nLook at: {run.shows}.\n" in ended.out
    stored = [line.split()[0] for line in traced_loop("runs").out.splitlines()[1:]]
    assert sorted(stored) == sorted(runs_in(ended))
    assert len(stored) == 4


def test_each_trace_is_what_show_prints() -> None:
    """The demo shows a run from the store, in the words of `show`."""
    ended = traced_loop("demo")
    for run_id in runs_in(ended):
        shown = traced_loop("show", run_id).out.strip()
        assert shown in ended.out


def test_each_run_ends_with_its_ids_and_the_command_that_shows_it() -> None:
    """On stderr, ready to be copied, as after any other run."""
    ended = traced_loop("demo")
    commands = [line.removeprefix("traced-loop show ") for line in ended.err_lines if line.startswith("traced-loop ")]
    named = re.findall(r"^run (\S+)  trace [0-9a-f]{32}$", ended.err, re.MULTILINE)
    assert commands == named == runs_in(ended)
    assert len(commands) == 4


def test_the_spans_of_all_four_runs_reach_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """One way out for all of them, closed once."""
    with collector() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        ended = traced_loop("demo")
        sent = {span.trace_id.hex() for span in receiver.spans}
    assert sent == set(re.findall(r"^trace +([0-9a-f]{32})$", ended.out, re.MULTILINE))
    assert len(sent) == 4


def test_the_answers_are_given() -> None:
    """Two of the four runs have one."""
    out = traced_loop("demo").out
    assert re.findall(r"^answer: (.*)$", out, re.MULTILINE) == [
        "Limits are checked before anything is spent, and 18 * (4 + 2) = 108.",
        "62 times 60 is 3720.",
    ]


def test_it_ends_with_what_to_try_next() -> None:
    """Every command that it names exists."""
    tail = traced_loop("demo").out.split("What to try next\n")[1]
    for command in set(re.findall(r"^  traced-loop (\S+)", tail, re.MULTILINE)):
        assert traced_loop(command, "--help").code == 0


def test_progress_is_on_stderr_and_stdout_is_the_page() -> None:
    """`demo > file` is the whole story without the live lines."""
    ended = traced_loop("demo")
    assert "finish_reason=" not in ended.out
    assert ended.err_lines.count("step 1: finish_reason=tool_calls") == 4


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_the_traces_fit_the_width(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """With COLUMNS no line of a trace is longer, and nothing is left out of the tree."""
    monkeypatch.setenv("COLUMNS", columns)
    out = traced_loop("demo").out
    pages = out.split("What to try next")[0]
    lines = [line for line in pages.splitlines() if not line.startswith(("Look at: ", "answer: "))]
    assert max(map(len, lines)) <= max(int(columns), MARGIN)
    assert len(re.findall(r"\bchat scripted\b", re.sub(r"\n +", " ", pages))) == 9


def test_piped_output_holds_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but text and line ends on both streams."""
    monkeypatch.setenv("TERM", "xterm-256color")
    ended = traced_loop("demo")
    assert "\x1b" not in ended.out + ended.err


def test_a_store_of_ones_own_takes_the_runs(tmp_path: Path, home: Path) -> None:
    """`--store DIR` and nothing in the default one."""
    assert traced_loop("demo", "--store", str(tmp_path / "other")).code == 0
    assert len(list((tmp_path / "other" / "spans").iterdir())) == 4
    assert not home.exists()
