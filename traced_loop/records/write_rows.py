"""The rows of the ledger: one write by its name, and what is added to the events of one."""

import json
import sqlite3
from typing import Any, Final

from traced_loop.call_ledger import Claim, Write, WriteEnd
from traced_loop.frozen_value import frozen_value
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.leases import beat_of
from traced_loop.records.store_schema import LEDGER_VERSION
from traced_loop.redaction.held_secrets import without_held

Name = tuple[str, str, str]
"""Tool, scope and key of a write; the constraint on it decides who executes."""

_COLUMNS: Final = (
    "tool, scope, key, number, state, fingerprint, arguments, run_id, call_id, owner, lease_ns, lease_ticks, result,"
    " trace_id, span_id, changed_ns"
)
_ONE: Final = f"SELECT {_COLUMNS} FROM writes WHERE tool = ? AND scope = ? AND key = ?"  # noqa: S608 - constants
_OF_RUN: Final = f"SELECT {_COLUMNS} FROM writes WHERE run_id = ? ORDER BY changed_ns, key"  # noqa: S608
_LAST_LEASE: Final = "SELECT max(lease_ns) FROM writes WHERE run_id = ?"
_OPEN: Final = f"SELECT {_COLUMNS} FROM writes WHERE state IN ('running', 'unknown') ORDER BY changed_ns, key"  # noqa: S608
_EVENT: Final = (
    "INSERT INTO write_events (tool, scope, key, number, event, at_ns, run_id, call_id, owner, by, note)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_EVENTS: Final = (
    "SELECT tool, scope, key, call_id, number, event, at_ns, by, note FROM write_events WHERE run_id = ? ORDER BY id"
)


@frozen_value
class WriteRow:
    """What the ledger has of one write.

    Attributes:
        name: tool, scope and key.
        number: of its newest claim; 0 where it has only been decided about.
        state: ``approved``, ``running``, ``succeeded``, ``failed``, ``unknown``, ``rejected`` or ``undone``.
        fingerprint: of its arguments and its tool's version.
        arguments: as JSON text; ``""`` where they are not kept any more.
        run_id: the run that claimed it last, or decided about it.
        call_id: the model's id of the call there.
        owner: the process that claimed it.
        lease_ns: until when it is taken to run where that cannot be seen, in nanoseconds since 1970.
        lease_ticks: the same by the machine's monotonic clock.
        content: what the model was told, where it succeeded and that is kept.
        span: the span that shows its execution, or None.
        changed_ns: when its state changed last, in nanoseconds since 1970.
    """

    name: Name
    number: int
    state: str
    fingerprint: str
    arguments: str
    run_id: str
    call_id: str
    owner: str
    lease_ns: int
    lease_ticks: int
    content: str | None
    span: tuple[int, int] | None
    changed_ns: int

    @property
    def end(self) -> WriteEnd:
        """How it ended, of one that succeeded."""
        return WriteEnd(state="succeeded", content=self.content, span=self.span, ended_ns=self.changed_ns)


@frozen_value
class WriteEvent:
    """One change of what is known of a write, as it was recorded; ``name`` is that of the write."""

    name: Name
    call_id: str
    number: int
    event: str
    at_ns: int
    by: str
    note: str | None


def name_of(write: Write) -> Name:
    """The name of a write: a key that is not the tool's own holds in its run."""
    return write.tool, "" if write.declared else write.run_id, storable(write.key)


def storable(text: str) -> str:
    """A text that has a form in UTF-8, as keys of applications may not."""
    return text.encode(errors="backslashreplace").decode()


def row_of(database: sqlite3.Connection, name: Name) -> WriteRow | None:
    """What is known of a write."""
    found = database.execute(_ONE, name).fetchone()
    return None if found is None else _row(found)


def rows_of_run(index: IndexReader, run_id: str) -> list[WriteRow]:
    """The writes of one run, the one that changed last at the end.

    Raises:
        StoreError: the store cannot be read.
    """
    return [_row(found) for found in index.read(_OF_RUN, (run_id,), since=LEDGER_VERSION)]


def last_beat(index: IndexReader, run_id: str) -> int:
    """When a claim of a run was made or renewed last, in nanoseconds since 1970; 0 for a run that claimed nothing.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = index.read(_LAST_LEASE, (run_id,), since=LEDGER_VERSION)
    return beat_of(next((int(lease) for (lease,) in rows if lease is not None), 0))


def open_rows(index: IndexReader) -> list[WriteRow]:
    """The writes of all runs that run, or of which nobody knows what came of them; the oldest first.

    Raises:
        StoreError: the store cannot be read.
    """
    return [_row(found) for found in index.read(_OPEN, (), since=LEDGER_VERSION)]


def events_of_run(index: IndexReader, run_id: str) -> list[WriteEvent]:
    """What was recorded of the writes of one run, in order.

    Raises:
        StoreError: the store cannot be read.
    """
    return [
        WriteEvent(name=(tool, scope, key), call_id=call_id, number=number, event=event, at_ns=at_ns, by=by, note=note)
        for tool, scope, key, call_id, number, event, at_ns, by, note in index.read(
            _EVENTS, (run_id,), since=LEDGER_VERSION
        )
    ]


def add_event(
    database: sqlite3.Connection,
    claim: Claim,
    event: str,
    at_ns: int,
    *,
    owner: str,
    by: str = "loop",
    note: str | None = None,
) -> None:
    """Record a change, in the transaction that makes it."""
    write = claim.write
    more = None if note is None else storable(note)
    row = (
        *name_of(write),
        claim.number,
        event,
        at_ns,
        write.run_id,
        storable(write.call_id),
        owner,
        storable(by),
        more,
    )
    database.execute(_EVENT, row)


def content_text(content: str | None) -> str | None:
    """What a model is told, in the form in which it is stored: any text, also one that has no form in UTF-8."""
    return None if content is None else without_held(json.dumps(content))


def span_texts(span: tuple[int, int] | None) -> tuple[str | None, str | None]:
    """A span's ids as they are stored."""
    return (None, None) if span is None else (f"{span[0]:032x}", f"{span[1]:016x}")


def _row(found: tuple[Any, ...]) -> WriteRow:
    tool, scope, key, number, state, fingerprint, arguments, run_id, call_id, owner, lease_ns, ticks, *rest = found
    result, trace_id, span_id, changed_ns = rest
    return WriteRow(
        name=(tool, scope, key),
        number=number,
        state=state,
        fingerprint=fingerprint,
        arguments=arguments,
        run_id=run_id,
        call_id=call_id,
        owner=owner,
        lease_ns=lease_ns,
        lease_ticks=ticks,
        content=None if result is None else str(json.loads(result)),
        span=None if trace_id is None else (int(trace_id, 16), int(span_id, 16)),
        changed_ns=changed_ns,
    )
