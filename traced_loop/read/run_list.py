"""Runs of a store chosen, put in order, cut into pages and added up, for one process that asks again and again.

SQLite does the work: over the runs that have ended in the index, and beside them over those that have not, or that the
index lacks, as their span files tell them. Those are read once and then only where they have grown.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import field
from decimal import ROUND_CEILING
from pathlib import Path
from typing import Any, Final

from traced_loop.errors import StoreError
from traced_loop.frozen_value import frozen_value
from traced_loop.read.called_tools import called_tools
from traced_loop.read.followed_runs import FollowedRuns
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_choice import AMONG, MICRO, RunChoice, condition_of
from traced_loop.read.run_entry import COLUMNS, RunEntry, RunState, from_row
from traced_loop.read.run_files import run_files, run_ids_in
from traced_loop.read.run_sums import GROUPED, RunSums, sums_of
from traced_loop.read.trace import MOST_NUMBER, Problem

MOST_UNINDEXED: Final = 200
"""Runs that the index lacks of which the files are read, the newest ones: a store whose index is lost may be large."""
MOST_TOOL_RUNS: Final = 500
"""Runs, the newest ones, whose tools are looked up where nobody has asked for a tool."""
STATES_SECONDS: Final = 1.0
"""Between two looks at whether processes are still there."""
_FIELDS: Final = COLUMNS.removesuffix(", process")
_BESIDE: Final = ", ".join(
    f"json_extract(value, '$[{n}]') AS {name.strip()}" for n, name in enumerate(f"{_FIELDS}, state".split(","))
)
_WITHOUT_INDEX: Final = f"WITH known AS (SELECT {_BESIDE}, key AS place FROM json_each(?))"  # noqa: S608 - constants
_WITH_INDEX: Final = (
    f"{_WITHOUT_INDEX[:-1]} UNION ALL SELECT {_FIELDS}, 'ended', NULL FROM runs"  # noqa: S608 - constants
    " WHERE ended_ns IS NOT NULL AND run_id NOT IN (SELECT json_extract(value, '$[0]') FROM json_each(?)))"
)
_UNENDED: Final = f"SELECT {COLUMNS} FROM runs WHERE ended_ns IS NULL"  # noqa: S608 - constants


@frozen_value
class ChosenRuns:
    """What came of a choice.

    Attributes:
        entries: the part that was wanted, in order.
        first: how many lie before it: less than wanted where there are not so many, but a whole number of parts.
        sums: of all that fit, not only of the part.
    """

    entries: tuple[RunEntry, ...] = ()
    first: int = 0
    sums: RunSums = field(default_factory=RunSums)


@frozen_value
class RunNames:
    """What occurs in the runs of a store, to choose from; nothing empty.

    Attributes:
        models: sorted, as the others where nothing else is said.
        agents: likewise.
        sessions: those of the newest runs first.
        tools: of the runs that were looked at so far, the newest ones at least.
    """

    models: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class RunList:
    """The runs of one store; may be asked by several threads."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet.

        Args:
            folder: of the store; it may be missing.
        """
        self._spans = folder / "spans"
        self._folder = folder
        self._lock = threading.Lock()
        self._followed = FollowedRuns(self._spans)
        self._tools: dict[str, tuple[int, frozenset[str]]] = {}
        self._states: tuple[float, dict[str, RunState]] = (0.0, {})

    def look(self) -> "RunLook":
        """The store as it is now.

        Raises:
            UsageError: its path is something else than a folder.
        """
        store = LocalStore.open(self._folder)
        with self._lock:
            unended = [from_row(row) for row in store.rows(_UNENDED)]
            missing = self._missing({str(run_id) for (run_id,) in store.rows("SELECT run_id FROM runs")})
            self._followed.keep_only([*(entry.run_id for entry in unended), *missing[:MOST_UNINDEXED]])
            beside = [self._followed.entry(entry) for entry in unended]
            beside += [self._followed.unindexed(run_id) for run_id in missing[:MOST_UNINDEXED]]
            tools = [self._followed.recorded(entry.run_id).tools for entry in beside]
        return RunLook(self, store, beside, tools, unread=len(missing[MOST_UNINDEXED:]))

    def states(self) -> str:
        """A short text that is equal as long as the same runs have no end and their processes are as they were.

        A process that is killed writes nothing: that it is gone can only be asked. It is, once in ``STATES_SECONDS``.
        """
        return f"{hash(tuple(sorted(self._unended_states().items()))):x}"

    def state(self, run_id: str) -> str:
        """Of one run, ``STATES_SECONDS`` old at most; ``""`` where it has ended, or the index lacks it."""
        return self._unended_states().get(run_id, "")

    def _unended_states(self) -> dict[str, RunState]:
        now = time.monotonic()
        with self._lock:
            if now >= self._states[0]:
                unended = [from_row(row) for row in LocalStore.open(self._folder).rows(_UNENDED)]
                self._states = now + STATES_SECONDS, {entry.run_id: entry.state for entry in unended}
            return self._states[1]

    def tools_of(self, rows: Iterable[Sequence[Any]]) -> list[frozenset[str]]:
        """The tools of ended runs, each (run id, time of its end): read once, since what has ended does not change."""
        found: list[frozenset[str]] = []
        with self._lock:
            for run_id, ended_ns in rows:
                known = self._tools.get(run_id)
                if known is None or known[0] != ended_ns:
                    known = ended_ns, called_tools(run_files(self._spans, run_id))
                    self._tools[run_id] = known
                found.append(known[1])
        return found

    def all_tools(self) -> set[str]:
        """Of the ended runs that were looked at so far."""
        with self._lock:
            return set[str]().union(*(tools for _, tools in self._tools.values()))

    def _missing(self, indexed: set[str]) -> list[str]:
        """The runs that have files only, newest first."""
        return sorted(set(run_ids_in(self._spans)) - indexed, reverse=True)


class RunLook:
    """One look at the runs of a store: what it is asked, it answers of the same unended runs.

    Attributes:
        unread: runs that the index lacks and that are not shown, since there are too many.
    """

    def __init__(
        self,
        runs: RunList,
        store: LocalStore,
        beside: Sequence[RunEntry],
        tools: Sequence[frozenset[str]],
        *,
        unread: int,
    ) -> None:
        self.unread = unread
        self._runs = runs
        self._store = store
        self._beside = beside
        self._beside_tools = tools
        self._rows = json.dumps([_as_row(entry) for entry in beside])

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the index."""
        return self._store.problems

    def count(self) -> int:
        """How many runs there are."""
        # A file in which the tables are being made gives no row at all.
        return sum(int(count) for (count,) in self._ask("SELECT count(*) FROM known", ()))

    def names(self, *, every_tool: bool = False) -> RunNames:
        """What occurs in them.

        Args:
            every_tool: also of old runs, which costs a look into the files of all the first time.
        """
        pairs = self._ask("SELECT DISTINCT model, agent FROM known WHERE place IS NULL", ())
        sessions = self._ask(
            "SELECT session_id FROM known WHERE place IS NULL GROUP BY 1 ORDER BY max(started_ns) DESC", ()
        )
        going_on = [entry.session_id for entry in self._beside]
        newest = "SELECT run_id, ended_ns FROM known WHERE place IS NULL ORDER BY started_ns DESC LIMIT ?"
        self._runs.tools_of(self._ask(newest, (-1 if every_tool else MOST_TOOL_RUNS,)))
        tools = self._runs.all_tools().union(*self._beside_tools)
        return RunNames(
            models=_sorted([*(model for model, _ in pairs), *(entry.model for entry in self._beside)]),
            agents=_sorted([*(agent for _, agent in pairs), *(entry.agent for entry in self._beside)]),
            sessions=tuple(dict.fromkeys(text for text in [*going_on, *(text for (text,) in sessions)] if text)),
            tools=_sorted(tools),
        )

    def choose(self, choice: RunChoice) -> ChosenRuns:
        """The runs that fit."""
        condition = condition_of(choice)
        where, values = f"FROM known WHERE {condition.text}", condition.values
        if choice.tools is not None:
            fitting = self._with_tools(choice.tools, where, values)
            where, values = f"{where} AND run_id {AMONG}", (*values, json.dumps(fitting))
        sums = sums_of(self._ask(f"SELECT {GROUPED} {where} GROUP BY state, stop_reason", values))
        last = max(0, sums.runs - 1) // choice.most * choice.most
        first = min(choice.first // choice.most * choice.most, last)
        ordered = f"SELECT {_FIELDS}, place {where} ORDER BY {choice.ordering()} LIMIT ? OFFSET ?"
        rows = self._ask(ordered, (*values, choice.most, first))
        return ChosenRuns(entries=tuple(self._entry(row) for row in rows), first=first, sums=sums)

    def _with_tools(self, wanted: frozenset[str], where: str, values: tuple[Any, ...]) -> list[str]:
        """The ids of those that asked for one of the tools."""
        rows = self._ask(f"SELECT run_id, ended_ns {where} AND place IS NULL", values)
        pairs = list(zip((row[0] for row in rows), self._runs.tools_of(rows), strict=True))
        pairs += zip((entry.run_id for entry in self._beside), self._beside_tools, strict=True)
        return [run_id for run_id, tools in pairs if tools & wanted]

    def _entry(self, row: Sequence[Any]) -> RunEntry:
        fields, place = row[:-1], row[-1]
        return from_row([*fields, ""]) if place is None else self._beside[int(place)]

    def _ask(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Rows of a query over the table ``known``: with the index, or where that cannot be read, without."""
        if self._store.is_indexed:
            rows = self._store.rows(f"{_WITH_INDEX} {query}", (self._rows, self._rows, *values))
            if self._store.is_indexed:
                return rows
        with closing(sqlite3.connect(":memory:")) as database:
            try:
                return database.execute(f"{_WITHOUT_INDEX} {query}", (self._rows, *values)).fetchall()
            except sqlite3.Error as error:
                raise StoreError(f"the runs cannot be listed: {error}", why="unusable") from error


def _as_row(entry: RunEntry) -> list[Any]:
    """Its columns, and its state; what no column holds is unknown."""
    started, ended = (
        None if t is None else round(t.timestamp() * 1e6) * 1000 for t in (entry.started_at, entry.ended_at)
    )
    cost = None if entry.cost_usd is None else int((entry.cost_usd * MICRO).to_integral_value(ROUND_CEILING))
    texts = [entry.run_id, entry.trace_id, entry.agent, entry.model, entry.session_id]
    counts = [_held(count) for count in (entry.steps, entry.tool_calls, entry.tokens, cost)]
    fields = [*map(_text, texts), started, ended, _text(entry.stop_reason), _text(entry.stop_detail), *counts]
    return [*fields, int(entry.flagged), entry.state]


def _text(text: str | None) -> str | None:
    """Half a character, which JSON can spell, is none that SQLite gives back."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _held(count: int | None) -> int | None:
    return None if count is None or not -MOST_NUMBER <= count < MOST_NUMBER else count


def _sorted(found: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({text for text in found if text}, key=lambda text: (text.casefold(), text)))
