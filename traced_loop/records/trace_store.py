"""The spans of each run, written as they start and end, and the index of runs.

Each run has two files in the store's folder ``spans``: ``RUN.otlp.jsonl`` holds every ended span as a line of OTLP
JSON, ``RUN.open.jsonl`` the starts of those that can last. When the root ends, the second is removed; when the process
is killed, it stays and tells what the run was doing. One ``write`` call per span, no lock, no fsync: safe against
``kill -9``.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.records.process_identity import claimant
from traced_loop.records.store import Store, append_private
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.version import __version__

ENDED_SUFFIX: Final = ".otlp.jsonl"
OPEN_SUFFIX: Final = ".open.jsonl"

_INSERT: Final = (
    "INSERT OR REPLACE INTO runs (run_id, trace_id, agent, model, session_id, started_ns, process)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_AGAIN: Final = "UPDATE runs SET trace_id = ?, agent = ?, model = ?, session_id = ?, process = ? WHERE run_id = ?"
_TAKE_OVER: Final = (
    "UPDATE runs SET process = ?, ended_ns = NULL, stop_reason = NULL, stop_detail = NULL"
    " WHERE run_id = ? AND process = ? AND ended_ns IS ? AND trace_id = ?"
)
_UPDATE: Final = (
    "UPDATE runs SET ended_ns = ?, stop_reason = ?, stop_detail = ?, steps = ?, tool_calls = ?, tokens = ?,"
    " cost_microusd = ?, flagged = ? WHERE run_id = ?"
)


class Room(Protocol):
    """Whether there is room for a run; each raises StoreFull where there is none."""

    def begins(self, run_id: str) -> None:
        """A run begins to be recorded."""
        ...

    def check(self, run_id: str) -> None:
        """Something of a run is about to be recorded."""
        ...

    def wrote(self, size: int) -> None:
        """So many bytes were written; never raises."""
        ...


class TraceStore:
    """The sink that telemetry writes to."""

    def __init__(
        self,
        store: Store,
        resource: Mapping[str, Any],
        owed: Mapping[str, str] | None = None,
        room: Room | None = None,
    ) -> None:
        """Write to a store.

        Args:
            store: an open one.
            resource: attributes of the process.
            owed: see ``LineEncoder``.
            room: refuses runs while the store is full; None for a store without a limit.
        """
        self._room = room
        self._store = store
        self._folder = f"{store.spans_folder}{os.sep}"
        self._encoder = LineEncoder(resource, names.SCOPE, __version__, owed)

    def started(self, span: SpanRecord) -> None:
        """Record a start; the root's makes the run visible in the index, and the store anew where it has vanished.

        Raises:
            OSError: the file cannot be written.
            StoreError: the index cannot be written, or there is no room for the run.
        """
        if span.root:
            self._store.make_again()
        if self._room is not None:
            (self._room.begins if span.root else self._room.check)(span.run_id)
        append_private(self._path(span.run_id, OPEN_SUFFIX), self._encoder.line(span))
        if span.root:
            self._store_start(span)

    def ended(self, span: SpanRecord) -> None:
        """Record a whole span; the root's end closes the run in the index.

        Raises:
            OSError: the file cannot be written.
            StoreError: the index cannot be written, or there is no room for the run.
        """
        try:
            line = self._encoder.line(span)
            if self._room is not None:
                self._room.check(span.run_id)
                self._room.wrote(len(line))
            append_private(self._path(span.run_id, ENDED_SUFFIX), line)
        finally:
            if span.root:  # also where the file takes no more: else the run would seem to have died
                end_run(self._store, span.run_id, RunEnd(end_ns=span.end_ns, attributes=span.attributes))
        if span.root:
            with suppress(FileNotFoundError):
                os.unlink(self._path(span.run_id, OPEN_SUFFIX))  # noqa: PTH108 - see _path

    def _store_start(self, span: SpanRecord) -> None:
        run_id, trace_id, agent, model, session_id, started, process = _started_row(span)
        row = (trace_id, agent, model, session_id, process, run_id)
        # A run that goes on keeps the time of its beginning.
        if names.RUN_RESUMED not in span.attributes or not self._store.change(_AGAIN, row):
            self._store.write(_INSERT, [(run_id, trace_id, agent, model, session_id, started, process)])

    def _path(self, run_id: str, suffix: str) -> str:
        # Text, not a Path: joining Paths is a tenth of what a span costs here.
        return f"{self._folder}{run_id}{suffix}"


@frozen_value
class RunHolder:
    """What the index has of who had a run last: nobody else has had it since as long as all three are the same."""

    process: str
    trace_id: str
    ended_ns: int | None


def holder_of(store: Store, run_id: str) -> RunHolder | None:
    """Who had a run last; None for a run that the index does not have.

    Raises:
        StoreError: the index cannot be read.
    """
    rows = store.read("SELECT process, trace_id, ended_ns FROM runs WHERE run_id = ?", (run_id,))
    return RunHolder(process=rows[0][0], trace_id=rows[0][1], ended_ns=rows[0][2]) if rows else None


def take_over(store: Store, run_id: str, held: RunHolder) -> bool:
    """Make a run that has ended, or whose process is gone, this process's; False where somebody else was faster.

    From then on it counts as running.

    Raises:
        StoreError: the index cannot be written.
    """
    row = (claimant(), run_id, held.process, held.ended_ns, held.trace_id)
    return store.change(_TAKE_OVER, row) == 1


@frozen_value
class RunEnd:
    """What the index has of a run's end: when, in nanoseconds since 1970, and the attributes of its own span."""

    end_ns: int
    attributes: Mapping[str, Any]


def end_run(store: Store, run_id: str, end: RunEnd) -> None:
    """Write the end of a run into the index.

    Raises:
        StoreError: the index cannot be written.
    """
    store.write(_UPDATE, [_ended_row(run_id, end)])


def _started_row(span: SpanRecord) -> tuple[Any, ...]:
    a = span.attributes
    return (
        span.run_id,
        f"{span.trace_id:032x}",
        a.get(names.GEN_AI_AGENT_NAME, ""),
        a.get(names.GEN_AI_REQUEST_MODEL, ""),
        a.get(names.SESSION_ID),
        span.start_ns,
        claimant(),
    )


def _ended_row(run_id: str, end: RunEnd) -> tuple[Any, ...]:
    a = end.attributes
    return (
        end.end_ns,
        a.get(names.RUN_STOP_REASON),
        a.get(names.RUN_STOP_DETAIL),
        a.get(names.RUN_STEPS),
        a.get(names.RUN_TOOL_CALLS),
        a.get(names.RUN_TOKENS),
        a.get(names.RUN_COST_MICROUSD),
        int(bool(a.get(names.RUN_FLAGGED))),
        run_id,
    )
