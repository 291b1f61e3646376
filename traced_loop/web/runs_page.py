"""What the list of runs shows: the rows and sums of a filter, the way to other pages of it, and what is said of it."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_choice import ORDERS, RunChoice, RunOrder
from traced_loop.read.run_entry import RunEntry
from traced_loop.read.run_list import ChosenRuns, RunNames
from traced_loop.web.run_filter import FIELDS, RunFilter
from traced_loop.web.run_waits import RunWait, wait_of
from traced_loop.web.wanted_names import wanted_names

ROWS: Final = 50
"""Of one page."""
MOST_SUGGESTED: Final = 200
"""Names that a field offers; another one can be written all the same."""
NUMBERS: Final = frozenset({"took", "steps", "calls", "tokens", "cost"})
"""Columns with numbers."""
_LARGEST_FIRST: Final = frozenset({*NUMBERS, "run", "started", "flagged"})
_NEAR: Final = 2
"""Pages before and after this one that have a link."""


@frozen_value
class Column:
    """A heading: how the rows are sorted by it (``ascending``, ``descending``, or ``""``), and where that changes."""

    name: RunOrder
    sorted: str
    address: str
    is_number: bool


@frozen_value
class RunRow:
    """One run; ``word`` is its stop reason, or its state."""

    run: RunEntry
    word: str
    wait: RunWait | None


@frozen_value
class FilterMark:
    """A part of the filter that is on: the field, what it says, and the address without it."""

    field: str
    values: tuple[str, ...]
    address: str


@frozen_value
class RunsPage:
    """What the template shows.

    Attributes:
        filter: what the address says.
        found: what fits.
        running: the rows at the top.
        others: the rows below them.
        columns: the headings.
        page: of ``pages``, from 1 on; another than the address says where there are not so many.
        pages: how many; 1 for none.
    """

    filter: RunFilter
    found: ChosenRuns
    running: tuple[RunRow, ...]
    others: tuple[RunRow, ...]
    columns: tuple[Column, ...]
    page: int
    pages: int

    def near(self) -> Iterator[tuple[int, str]]:
        """The pages that have a link, each with its address: the first, the last, and those around this one."""
        around = range(self.page - _NEAR, self.page + _NEAR + 1)
        for number in sorted({1, self.pages, *around}):
            if 1 <= number <= self.pages:
                yield number, self.filter.address(page=number)

    def marks(self) -> Iterator[FilterMark]:
        """The parts of the filter that are on."""
        for name in FIELDS:
            if name in self.filter.given and name not in self.filter.problems:
                yield FilterMark(field=name, values=self.filter.given[name], address=self.filter.address(without=name))


def choice_of(wanted: RunFilter, names: RunNames) -> RunChoice:
    """What the store is asked for: names as they are stored, and one page."""

    def named(field: str, known: tuple[str, ...]) -> frozenset[str] | None:
        pattern = wanted.wanted(field)
        return wanted_names(pattern, known) if pattern else None

    return replace(
        wanted.choice,
        models=named("model", names.models),
        agents=named("agent", names.agents),
        sessions=named("session", names.sessions),
        tools=named("tool", names.tools),
        first=(wanted.page - 1) * ROWS,
        most=ROWS,
    )


def runs_page(wanted: RunFilter, found: ChosenRuns) -> RunsPage:
    """Put together what is shown."""
    rows = [_row(entry) for entry in found.entries]
    return RunsPage(
        filter=wanted,
        found=found,
        running=tuple(row for row in rows if row.run.state == "running"),
        others=tuple(row for row in rows if row.run.state != "running"),
        columns=tuple(_column(wanted, name) for name in ORDERS),
        page=found.first // ROWS + 1,
        pages=max(1, -(-found.sums.runs // ROWS)),
    )


def same(*shown: object) -> str:
    """A short text that is equal as long as what is shown is."""
    return blake2b(repr(shown).encode("utf-8", "replace"), digest_size=9).hexdigest()


def _row(run: RunEntry) -> RunRow:
    word = run.stop_reason or "unknown" if run.state == "ended" else run.state
    wait = None if run.open_span is None or run.state == "ended" else wait_of(run.open_span)
    return RunRow(run=run, word=word, wait=wait)


def _column(wanted: RunFilter, name: RunOrder) -> Column:
    is_by = wanted.choice.order == name
    descending = not wanted.choice.descending if is_by else name in _LARGEST_FIRST
    return Column(
        name=name,
        sorted=("descending" if wanted.choice.descending else "ascending") if is_by else "",
        address=wanted.address(order=name, descending=descending),
        is_number=name in NUMBERS,
    )
