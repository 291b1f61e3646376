"""The local store, for reading: the list of runs, one run by its id, its spans and its messages.

The span files are the truth and the SQLite file an index of them: when that is damaged, or lost a row, what the files
hold is shown all the same, and what is wrong is said. Nothing here writes, and no store is made where there is none.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from traced_loop.errors import StoreError, UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.messages import Message
from traced_loop.read.known_writes import has_doubt, settled_writes
from traced_loop.read.otlp_json import read_file
from traced_loop.read.recorded_run import as_recorded, recorded_run
from traced_loop.read.run_entry import COLUMNS, RunEntry, RunState, ended, from_row, from_trace, seen, state_of
from traced_loop.read.run_files import run_files, run_ids_in
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.span_tree import build
from traced_loop.read.stored_lines import stored_lines
from traced_loop.read.trace import Problem, ProblemKind, SpanKey, StoredTrace
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import FILE, store_folder
from traced_loop.records.transcript import read_messages
from traced_loop.records.write_rows import WriteEvent, events_of_run, last_beat

LAST: Final = "last"
"""Names the newest run."""
MAX_CANDIDATES: Final = 5
"""Runs named when a prefix fits several."""
_NEWEST: Final = f"SELECT {COLUMNS} FROM runs ORDER BY started_ns DESC, run_id DESC LIMIT ?"  # noqa: S608 - constants
_WITHOUT_END: Final = f"SELECT {COLUMNS} FROM runs WHERE ended_ns IS NULL ORDER BY started_ns, run_id"  # noqa: S608
_ONE: Final = f"SELECT {COLUMNS} FROM runs WHERE run_id = ?"  # noqa: S608 - constants
_UNSETTLED: Final = (
    "SELECT run_id, trace_id, ended_ns, process, stop_reason FROM runs WHERE ended_ns IS NULL OR"
    " stop_reason IN ('confirmation_required', 'unknown_after_crash') ORDER BY started_ns DESC, run_id DESC"
)
_MAY_WAIT: Final = (  # what a run told its model last says so, or was never told
    "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM (SELECT body, row_number() OVER (ORDER BY seq DESC) AS"
    " place FROM messages WHERE run_id = value ORDER BY seq DESC LIMIT 128) WHERE"
    " body LIKE '%confirmation_required%' OR place = 1 AND body LIKE '%\"tool_calls\"%')"
)
_TRACE_ID_DIGITS: Final = 8
"""From so many hexadecimal digits on, a text may also be the beginning of a trace id."""


@frozen_value
class StoredRun:
    """One run as the store has it.

    Attributes:
        entry: its line of the list of runs.
        trace: its spans.
        problems: those of the store and of the spans.
        settled: what the ledger knows by now of writes of which the spans do not, by each span of their calls.
    """

    entry: RunEntry
    trace: StoredTrace
    problems: tuple[Problem, ...] = ()
    settled: Mapping[SpanKey, SettledWrite] = field(default_factory=dict[SpanKey, SettledWrite])


class UnsettledRun(NamedTuple):
    """A run that may go on, as the index has it: equal as long as nobody has taken it up."""

    run_id: str
    trace_id: str
    ended_ns: int | None
    state: RunState
    is_paused: bool


@frozen_value
class StoredMessages:
    """The transcript of one run; empty for a run that has none."""

    messages: tuple[Message, ...] = ()
    problems: tuple[Problem, ...] = ()


class LocalStore:
    """A store that is open for reading. Use it in a ``with`` block, or close it."""

    def __init__(self, folder: Path, index: IndexReader | None, problems: tuple[Problem, ...]) -> None:
        self.folder = folder
        self.problems = problems
        self._spans = folder / "spans"
        self._index = index

    @classmethod
    def open(cls, folder: Path | str | None = None) -> "LocalStore":
        """Open a store; an index that cannot be read is a problem of the result, not an error.

        Args:
            folder: None for ``TRACED_LOOP_HOME``, else the user's data directory. It may be missing: no runs then.

        Raises:
            UsageError: the path is something else than a folder.
        """
        path = store_folder(folder)
        if path.exists() and not path.is_dir():
            raise UsageError(f"the store {path} is no folder: name the folder of a store with --store")
        if not (path / FILE).exists():
            return cls(path, None, ())
        index = IndexReader(path / FILE)
        try:
            index.read("SELECT run_id FROM runs LIMIT 1")
        except StoreError as error:
            return cls(path, None, (Problem(kind=ProblemKind.INDEX_DAMAGED, text=str(error)),))
        return cls(path, index, ())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Read the index no more. Closing twice is fine."""
        self._index = None

    def runs(self, limit: int | None = None) -> list[RunEntry]:
        """The runs, newest first; those that the index lacks are read from their span files."""
        rows = self.rows(_NEWEST, (-1 if limit is None else limit,))
        indexed = {str(run_id) for (run_id,) in self.rows("SELECT run_id FROM runs")}
        # Run ids begin with their time, so the newest of the missing ones are the last by name.
        missing = sorted(set(run_ids_in(self._spans)) - indexed, reverse=True)[:limit]
        found = [self._checked(from_row(row)) for row in rows]
        found += [self._checked(from_trace(run_id, self.trace(run_id))) for run_id in missing]
        found.sort(key=_newest_first, reverse=True)
        return found[:limit]

    def run_ids(self, since_ns: int = 0) -> list[str]:
        """The ids of all runs, newest first, without reading any; those that the index knows to be older are left out.

        Args:
            since_ns: runs that began then or later; what the index lacks may have begun at any time.
        """
        rows = self.rows("SELECT run_id, started_ns FROM runs")
        begun = {str(run_id): started if isinstance(started, int) else 0 for run_id, started in rows}
        wanted = {run_id for run_id, started in begun.items() if not started or started >= since_ns}
        wanted |= set(run_ids_in(self._spans)) - set(begun)
        # A run id begins with the second in which it was made.
        return sorted(wanted, key=lambda run_id: (run_id.partition("-")[0], begun.get(run_id, 0), run_id), reverse=True)

    def find(self, text: str) -> str:
        """The id of a run: ``last`` is the newest; else an id, the beginning of one only, or likewise of a trace's.

        Raises:
            UsageError: there is none, or several; the message names them, or how to list all.
        """
        fitting = self.fitting(text)
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            named = ", ".join(fitting[-MAX_CANDIDATES:])
            more = f" and {len(fitting) - MAX_CANDIDATES} older ones" if len(fitting) > MAX_CANDIDATES else ""
            raise UsageError(f"{text!r} fits {len(fitting)} runs: {named}{more}; give more of the id")
        ids = self._ids()
        if text == LAST and not ids:
            raise UsageError(f"no runs in the store {self.folder} yet; `traced-loop demo` makes one")
        raise UsageError(f"there is no run {text!r} in the store {self.folder}; {self._hint(ids)}")

    def fitting(self, text: str) -> list[str]:
        """The ids of all runs that a text can mean, see ``find``, sorted: the newest last."""
        ids = self._ids()
        if text in ids:
            return [text]
        if text == LAST:
            return self.run_ids()[:1]
        return sorted(run_id for run_id in ids if text and run_id.startswith(text)) or self._of_trace(text)

    def run(self, run_id: str) -> StoredRun:
        """One run whole, by its full id."""
        trace = self.trace(run_id)
        rows = self.rows(_ONE, (run_id,))
        problems = self.problems
        if rows:
            entry = _settled(from_row(rows[0]), trace)
        else:
            entry = from_trace(run_id, trace)
            if not problems:
                text = f"the run {run_id} is not in {self.folder / 'store.db'}; its span files were read without it"
                problems = (Problem(kind=ProblemKind.NOT_INDEXED, text=text),)
        settled = self.settled(run_id, trace)
        return StoredRun(entry=entry, trace=trace, problems=(*problems, *trace.problems), settled=settled)

    def state(self, run_id: str) -> RunState:
        """Whether a run ended, still runs or died, as the index tells; ``unknown`` where it does not have the run."""
        rows = self.rows(_ONE, (run_id,))
        return from_row(rows[0]).state if rows else "unknown"

    def entry(self, run_id: str) -> RunEntry | None:
        """What the index has of a run, without a look at its spans; None where it does not have it."""
        rows = self.rows(_ONE, (run_id,))
        return from_row(rows[0]) if rows else None

    def unsettled(self) -> list[UnsettledRun]:
        """The runs that paused for a person, or have no end of their own, newest first; by the index alone."""
        return [
            UnsettledRun(run_id, trace_id, ended, state_of(ended, process), reason == "confirmation_required")
            for run_id, trace_id, ended, process, reason in self.rows(_UNSETTLED)
        ]

    def that_may_wait(self, run_ids: Collection[str]) -> set[str]:
        """Those of these runs in which a call may wait, by their last messages: perhaps too many, never too few."""
        return {str(run_id) for (run_id,) in self.rows(_MAY_WAIT, (json.dumps([*run_ids]),))} if run_ids else set()

    def dead_runs(self) -> list[str]:
        """The runs without an end in the index whose process is gone, oldest first."""
        entries = [from_row(row) for row in self.rows(_WITHOUT_END)]
        return [entry.run_id for entry in entries if entry.state == "died"]

    def trace(self, run_id: str) -> StoredTrace:
        """The spans of one run: those that ended, and the starts of those that never did."""
        found = [read_file(path) for path in run_files(self._spans, run_id)]
        trace = build([span for spans, _ in found for span in spans], [each for _, noted in found for each in noted])
        span = trace.run_span()
        return trace if span is not None and not span.is_open else replace(trace, seen_ns=self._last_beat(run_id))

    def settled(self, run_id: str, trace: StoredTrace) -> Mapping[SpanKey, SettledWrite]:
        """What the ledger knows by now of writes of which the spans of a run do not, by each span of their calls."""
        return settled_writes(trace.spans, self.write_events(run_id)) if has_doubt(trace.spans) else {}

    def write_events(self, run_id: str) -> list[WriteEvent]:
        """What the ledger has recorded of the writes of a run, in order; nothing where it cannot be read."""
        if self._index is None:
            return []
        try:
            return events_of_run(self._index, run_id)
        except StoreError:  # as good as no ledger: the trace then says what was known when it was recorded
            return []

    def ledger_stamp(self, run_id: str) -> str:
        """A text that is equal as long as nothing is added to what the ledger knows of the writes of a run."""
        events = self.write_events(run_id)
        return f"{len(events)}.{events[-1].at_ns:x}" if events else ""

    def span_lines(self, run_id: str) -> Iterator[bytes]:
        """The spans of one run as lines of OTLP JSON, see ``stored_lines``."""
        return stored_lines(run_files(self._spans, run_id))

    def messages(self, run_id: str) -> StoredMessages:
        """What the model of one run saw and said."""
        if self._index is None:
            return StoredMessages(problems=self.problems)
        try:
            return StoredMessages(messages=tuple(read_messages(self._index, run_id)))
        except (StoreError, ValueError, RecursionError) as error:
            text = f"the messages of the run {run_id} cannot be read: {error}"
            return StoredMessages(problems=(Problem(kind=ProblemKind.MESSAGES_UNREADABLE, text=text),))

    @property
    def is_indexed(self) -> bool:
        """Whether there is an index that can be read, as far as is known."""
        return self._index is not None

    def rows(self, query: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Rows of the index; from the first failure on the index counts as damaged and gives none."""
        if self._index is None:
            return []
        try:
            return self._index.read(query, parameters)
        except StoreError as error:
            self.problems = (*self.problems, Problem(kind=ProblemKind.INDEX_DAMAGED, text=str(error)))
            self._index = None
            return []

    def _last_beat(self, run_id: str) -> int:
        """When the claim of a write of the run was last renewed: its process lived then; 0 where nothing says so."""
        if self._index is None:
            return 0
        try:
            return last_beat(self._index, run_id)
        except StoreError:  # whoever asks the index for the run itself says what is wrong with it
            return 0

    def _checked(self, entry: RunEntry) -> RunEntry:
        """An entry without an end is compared with its files: they know what it was doing, and perhaps its end."""
        return entry if entry.state == "ended" else as_recorded(entry, recorded_run(self.trace(entry.run_id)))

    def _ids(self) -> set[str]:
        return {str(run_id) for (run_id,) in self.rows("SELECT run_id FROM runs")} | set(run_ids_in(self._spans))

    def _of_trace(self, text: str) -> list[str]:
        if len(text) < _TRACE_ID_DIGITS:
            return []
        query = "SELECT run_id FROM runs WHERE substr(trace_id, 1, ?) = ? ORDER BY run_id"
        return [str(run_id) for (run_id,) in self.rows(query, (len(text), text.lower()))]

    @staticmethod
    def _hint(ids: set[str]) -> str:
        return "`traced-loop runs` lists those there are" if ids else "it holds none yet"


def _settled(entry: RunEntry, trace: StoredTrace) -> RunEntry:
    span = trace.run_span()
    if entry.state != "ended" and span is not None and not span.is_open:
        return ended(entry, span)
    return seen(entry, trace.begun_ns, trace.last_ns)


def _newest_first(entry: RunEntry) -> tuple[float, str]:
    return (entry.started_at.timestamp() if entry.started_at else 0.0), entry.run_id
