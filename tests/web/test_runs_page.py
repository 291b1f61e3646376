"""What the list of runs shows of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop.read.run_choice import ORDERS
from traced_loop.read.run_entry import RunEntry
from traced_loop.read.run_list import ChosenRuns, RunList, RunNames
from traced_loop.read.run_sums import RunSums
from traced_loop.web.run_filter import filter_of
from traced_loop.web.runs_page import choice_of, runs_page, same
from traced_loop.web.word_marks import stop_mark

from ..read.many_runs import died, running, stored

if TYPE_CHECKING:
    from pathlib import Path


def numbered(pages: int, page: int) -> list[int]:
    """The pages that have a link."""
    found = ChosenRuns(sums=RunSums(runs=pages * 50), first=(page - 1) * 50)
    return [number for number, _ in runs_page(filter_of([], 0), found).near()]


def test_those_that_go_on_are_apart_from_the_others(tmp_path: Path) -> None:
    """A run that died is among the others, in what it was."""
    stored(tmp_path, {"a": {}, "b": died(), "c": running()})
    wanted = filter_of([], 0)
    shown = runs_page(wanted, RunList(tmp_path).look().choose(choice_of(wanted, RunNames())))
    assert [row.run.run_id for row in shown.running] == ["c"]
    assert [(row.run.run_id, row.word) for row in shown.others] == [("b", "died"), ("a", "final_answer")]


@pytest.mark.parametrize(
    ("entry", "word", "style"),
    [
        (RunEntry(run_id="r", state="ended", stop_reason="final_answer"), "final_answer", "good"),
        (RunEntry(run_id="r", state="ended", stop_reason="confirmation_required"), "confirmation_required", "odd"),
        (RunEntry(run_id="r", state="ended", stop_reason="refused"), "refused", "bad"),
        (RunEntry(run_id="r", state="ended", stop_reason="a new word"), "a new word", "bad"),
        (RunEntry(run_id="r", state="ended"), "unknown", "quiet"),
        (RunEntry(run_id="r", state="running"), "running", "odd"),
        (RunEntry(run_id="r", state="died"), "died", "bad"),
        (RunEntry(run_id="r", state="unknown"), "unknown", "quiet"),
    ],
)
def test_every_run_has_one_word_and_what_it_means_without_colour(entry: RunEntry, word: str, style: str) -> None:
    """A sign stands beside it."""
    page = runs_page(filter_of([], 0), ChosenRuns(entries=(entry,), sums=RunSums(runs=1)))
    [row] = [*page.running, *page.others]
    assert (row.word, stop_mark(row.word).style) == (word, style)
    assert stop_mark(row.word).sign


def test_a_heading_turns_its_own_order_round_and_begins_with_what_is_looked_for() -> None:
    """The largest number and the newest run, but the first name."""
    page = runs_page(filter_of([("sort", "-cost")], 0), ChosenRuns())
    columns = {column.name: column for column in page.columns}
    assert list(columns) == list(ORDERS)
    assert (columns["cost"].sorted, columns["cost"].address) == ("descending", "/?sort=cost")
    assert (columns["tokens"].sorted, columns["tokens"].address) == ("", "/?sort=-tokens")
    assert columns["model"].address == "/?sort=model"
    assert columns["started"].address == "/"


@pytest.mark.parametrize(
    ("pages", "page", "numbers"),
    [
        (1, 1, [1]),
        (3, 2, [1, 2, 3]),
        (9, 1, [1, 2, 3, 9]),
        (9, 5, [1, 3, 4, 5, 6, 7, 9]),
        (200, 200, [1, 198, 199, 200]),
    ],
)
def test_the_pages_around_the_first_and_the_last_have_links(pages: int, page: int, numbers: list[int]) -> None:
    """However many there are."""
    assert numbered(pages, page) == numbers


def test_no_runs_are_one_page() -> None:
    """The first."""
    page = runs_page(filter_of([("page", "7")], 0), ChosenRuns())
    assert (page.page, page.pages) == (1, 1)


def test_each_part_of_the_filter_can_be_taken_away() -> None:
    """But for one that was left out of it, which says so itself."""
    wanted = filter_of([("stop", "refused"), ("stop", "cancelled"), ("cost_to", "x"), ("model", "m")], 0)
    marks = [(mark.field, mark.values, mark.address) for mark in runs_page(wanted, ChosenRuns()).marks()]
    assert marks == [
        ("model", ("m",), "/?stop=refused&stop=cancelled&cost_to=x"),
        ("stop", ("refused", "cancelled"), "/?model=m&cost_to=x"),
    ]


def test_what_is_shown_alike_is_the_same() -> None:
    """Half characters, too."""
    entry = RunEntry(run_id="r", agent="\ud800")
    assert same(entry, 1) == same(RunEntry(run_id="r", agent="\ud800"), 1)
    assert same(entry, 1) != same(entry, 2)
