"""The ledger of writes in the store's file: what was approved, what runs, and what is known to have happened.

Any process may ask it about any write; the unique name of a write decides who executes it. That it runs is on the disk
before it does, its result with its state; each change is an event of the same transaction. A claim is the process's
that has it, by number and owner. What a process that is gone had running is unknown.

The file is one of its own: where it is removed, replaced or moved aside while a run goes on, that run writes no more.
"""

import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from traced_loop.call_ledger import FREE, Claim, Resolution, Standing, Verdict, Write, WriteEnd
from traced_loop.errors import StoreError
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.records import store_faults
from traced_loop.records.database import Database
from traced_loop.records.heartbeats import Heartbeats
from traced_loop.records.leases import BEAT_SECONDS, is_over, lease_from
from traced_loop.records.ledger_retention import RETENTION_DAYS, forget
from traced_loop.records.process_identity import claimant
from traced_loop.records.store import ASIDE, Store
from traced_loop.records.write_rows import WriteRow, add_event, content_text, name_of, row_of, span_texts, storable
from traced_loop.redaction.held_secrets import without_held

BUSY_SECONDS: Final = 3.0
"""How long a write waits for its turn at the file: longer than a record, since a run stops where it has none."""
_CLEAN_NS: Final = 3_600_000_000_000
"""Between two looks for what need not be kept any longer."""

_BEGIN: Final = """
INSERT INTO writes (tool, scope, key, number, state, fingerprint, arguments, run_id, call_id, owner, lease_ns,
    lease_ticks, changed_ns) VALUES (?, ?, ?, 1, 'running', ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tool, scope, key) DO UPDATE SET number = number + 1, state = 'running',
    fingerprint = excluded.fingerprint, arguments = excluded.arguments, run_id = excluded.run_id,
    call_id = excluded.call_id, owner = excluded.owner, lease_ns = excluded.lease_ns,
    lease_ticks = excluded.lease_ticks, changed_ns = excluded.changed_ns, left_behind = 0, result = NULL,
    trace_id = NULL, span_id = NULL
WHERE state IN ('approved', 'rejected', 'failed', 'undone') RETURNING number
"""
_DECIDED: Final = """
INSERT INTO writes (tool, scope, key, number, state, fingerprint, arguments, run_id, call_id, owner, lease_ns,
    lease_ticks, changed_ns) VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, 0, 0, ?)
ON CONFLICT (tool, scope, key) DO UPDATE SET state = excluded.state, fingerprint = excluded.fingerprint,
    arguments = excluded.arguments, run_id = excluded.run_id, call_id = excluded.call_id, owner = excluded.owner,
    changed_ns = excluded.changed_ns
WHERE state IN ({open}) RETURNING number
"""
_APPROVED: Final = _DECIDED.format(open="'approved', 'rejected', 'failed'")
_DOUBTED: Final = _DECIDED.format(open="'approved', 'rejected'")
_LEFT: Final = """
SELECT owner, lease_ns, lease_ticks FROM writes
WHERE state = 'running' AND left_behind AND tool = ? AND fingerprint = ?
"""
_LEAVE: Final = """
UPDATE writes SET left_behind = 1
WHERE tool = ? AND scope = ? AND key = ? AND number = ? AND owner = ? AND state = 'running'
"""
_SETTLE: Final = """
UPDATE writes SET state = ?, result = ?, trace_id = ?, span_id = ?, changed_ns = ?, left_behind = 0
WHERE tool = ? AND scope = ? AND key = ? AND number = ? AND owner = ?
"""
_ORPHANED: Final = """
UPDATE writes SET state = 'unknown', changed_ns = ?, left_behind = 0
WHERE tool = ? AND scope = ? AND key = ? AND number = ? AND state = 'running'
"""
_RESOLVE: Final = """
UPDATE writes SET state = ?, result = ?, changed_ns = ?
WHERE tool = ? AND scope = ? AND key = ? AND number = ? AND state = 'unknown'
"""
_BEAT: Final = "UPDATE writes SET lease_ns = ?, lease_ticks = ? WHERE state = 'running' AND owner = ?"

_STORED_STATES: Final = {"free": "failed"}
"""The words of the port that the ledger has another one for."""


class DurableLedger:
    """See ``CallLedger``; raises ``StoreError`` where the file fails it."""

    def __init__(
        self,
        store: Store,
        *,
        retention_days: float = RETENTION_DAYS,
        busy_seconds: float = BUSY_SECONDS,
        now_ns: Callable[[], int] = time.time_ns,
        ticks: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Nothing is opened yet.

        Args:
            store: whose file it is in.
            retention_days: how long results are kept, and all of a write whose key holds in its run.
            busy_seconds: how long another process's write is waited for.
            now_ns: nanoseconds since 1970.
            ticks: nanoseconds of a clock that is never set, and is the same for all processes of a machine.
        """
        self._path = store.file
        self._database = Database(store.file, durable=True, seconds=busy_seconds)
        self._retention_ns = round(retention_days * 86_400e9)
        self._now_ns = now_ns
        self._ticks = ticks
        self._beats = Heartbeats(self._beat, BEAT_SECONDS)
        self._lock = ForkSafeLock()
        self._stores: dict[str, str] = {}
        """The id of the file in which each run that goes on began."""
        self._cleaned_ns = 0

    def standing(self, write: Write) -> Standing:
        """See ``CallLedger.standing``."""
        self._enter(write.run_id)
        with self._database.using() as database:
            self._check(database, write.run_id)
            row = row_of(database, name_of(write))
            if not self._is_orphan(row):
                return self._judged(database, write, row)
        with self._changing(write.run_id) as database:
            return self._judged(database, write, self._row(database, write))

    def begin(self, write: Write) -> Standing:
        """See ``CallLedger.begin``."""
        self._enter(write.run_id)
        with self._changing(write.run_id) as database:
            row = self._row(database, write)
            found = self._judged(database, write, row)
            if found.state not in {"free", "undone"}:
                return found
            now = self._now_ns()
            [number] = database.execute(_BEGIN, (*_named(write), *self._lease(now), now)).fetchone()
            claim = Claim(write=write, number=number)
            if row is None or row.state != "approved" or row.run_id != write.run_id:
                add_event(database, claim, "approved", now, owner=claimant())
            add_event(database, claim, "running", now, owner=claimant())
        self._beats.hold((claim.number, name_of(write)))
        return Standing(state=found.state, claim=claim)

    def decided(self, write: Write, verdict: Verdict, by: str) -> None:
        """See ``CallLedger.decided``."""
        self._note(_APPROVED, write, verdict, by)

    def doubt(self, write: Write) -> None:
        """See ``CallLedger.doubt``."""
        self._note(_DOUBTED, write, "unknown", "history")

    def leave(self, claim: Claim) -> None:
        """See ``CallLedger.leave``."""
        with self._changing(claim.write.run_id) as database:
            database.execute(_LEAVE, (*name_of(claim.write), claim.number, claimant()))

    def settle(self, claim: Claim, end: WriteEnd) -> None:
        """See ``CallLedger.settle``; a claim that is not the newest, or another process's, leaves an event only."""
        now, state = self._now_ns(), _STORED_STATES.get(end.state, end.state)
        result = content_text(end.content) if end.state == "succeeded" else None
        values = (state, result, *span_texts(end.span), end.ended_ns or now)
        try:
            with self._changing(claim.write.run_id) as database:
                changed = database.execute(_SETTLE, (*values, *name_of(claim.write), claim.number, claimant()))
                event = state if changed.rowcount else f"fenced {state}"
                add_event(database, claim, event, now, owner=claimant())
        finally:
            self._beats.release((claim.number, name_of(claim.write)))

    def resolve(self, write: Write, number: int, resolution: Resolution) -> bool:
        """See ``CallLedger.resolve``."""
        state = _STORED_STATES.get(resolution.state, resolution.state)
        at = resolution.at_ns or self._now_ns()
        with self._changing(write.run_id) as database:
            self._row(database, write)
            values = (state, content_text(resolution.content), at, *name_of(write), number)
            if not database.execute(_RESOLVE, values).rowcount:
                return False
            claim = Claim(write=write, number=number)
            add_event(database, claim, state, at, owner=claimant(), by=resolution.by, note=resolution.note)
        return True

    def end_run(self, run_id: str) -> None:
        """See ``CallLedger.end_run``; what is past its time is let go of, at most once an hour."""
        with self._lock:
            wrote = self._stores.pop(run_id, None)
        now = self._now_ns()
        if wrote is None or abs(now - self._cleaned_ns) < _CLEAN_NS:
            return
        self._cleaned_ns = now
        with self._database.transaction() as database:
            forget(database, now - self._retention_ns)

    def _note(self, statement: str, write: Write, state: str, by: str) -> None:
        self._enter(write.run_id)
        now = self._now_ns()
        with self._changing(write.run_id) as database:
            self._row(database, write)
            tool, scope, key, *rest = _named(write)
            noted = database.execute(statement, (tool, scope, key, state, *rest, claimant(), now)).fetchone()
            if noted is not None:
                add_event(database, Claim(write=write, number=noted[0]), state, now, owner=claimant(), by=by)

    def _row(self, database: sqlite3.Connection, write: Write) -> WriteRow | None:
        """What is known of a write; what a process that is gone had running is unknown from now on."""
        row = row_of(database, name_of(write))
        if row is None or not self._is_orphan(row):
            return row
        now = self._now_ns()
        database.execute(_ORPHANED, (now, *row.name, row.number))
        gone = Claim(write=write, number=row.number)
        add_event(database, gone, "unknown", now, owner=row.owner, by="lease", note="its process is gone")
        return row_of(database, row.name)

    def _is_orphan(self, row: WriteRow | None) -> bool:
        return row is not None and row.state == "running" and self._is_over(row.owner, row.lease_ns, row.lease_ticks)

    def _is_over(self, owner: str, lease_ns: int, lease_ticks: int) -> bool:
        return is_over(owner, lease_ns, lease_ticks, now_ns=self._now_ns(), ticks=self._ticks())

    def _judged(self, database: sqlite3.Connection, write: Write, row: WriteRow | None) -> Standing:
        if row is None or row.state in {"approved", "rejected", "failed", "undone"}:
            if not write.declared and self._runs_on(database, write):
                return Standing(state="running")
            if row is None and self._is_forgotten(database, write):
                return Standing(state="unknown")
            return Standing(state="undone") if row is not None and row.state == "undone" else FREE
        if row.fingerprint != write.fingerprint:
            return Standing(state="conflict")
        if row.state == "succeeded":
            return Standing(state="succeeded", end=row.end)
        return Standing(state="unknown", number=row.number) if row.state == "unknown" else Standing(state="running")

    def _runs_on(self, database: sqlite3.Connection, write: Write) -> bool:
        """Whether the same write of another run goes on, waited for by nobody."""
        left = database.execute(_LEFT, (write.tool, write.fingerprint)).fetchall()
        return any(not self._is_over(*found) for found in left)

    def _is_forgotten(self, database: sqlite3.Connection, write: Write) -> bool:
        """Whether a write of which there is no row may have been done all the same.

        Raises:
            StoreError: the file stands for a damaged one, whose keys are not known.
        """
        if not write.declared:
            query = "SELECT 1 FROM forgotten_runs WHERE run_id = ?"
            return database.execute(query, (write.run_id,)).fetchone() is not None
        kept = database.execute("SELECT value FROM store_facts WHERE name = ?", (ASIDE,)).fetchone()
        if kept is not None:
            raise StoreError(
                f"the store {self._path} was damaged, and what it knew of writes is in {kept[0]} beside it:"
                " find out, there or at the services, which keys were used; then `traced-loop ledger --accept-loss`",
                why="damaged",
            )
        return False

    def _lease(self, now: int) -> tuple[str, int, int]:
        return claimant(), *lease_from(now, self._ticks())

    def _beat(self) -> None:
        owner, lease_ns, lease_ticks = self._lease(self._now_ns())
        with self._database.transaction() as database:
            database.execute(_BEAT, (lease_ns, lease_ticks, owner))

    @contextmanager
    def _changing(self, run_id: str) -> Generator[sqlite3.Connection]:
        with self._database.transaction() as database:
            self._check(database, run_id)
            yield database

    def _enter(self, run_id: str) -> None:
        """A run that begins may find another file than those before it did."""
        with self._lock:
            if run_id in self._stores:
                return
            self._stores[run_id] = ""
        if not self._database.in_place():
            self._database.close()

    def _check(self, database: sqlite3.Connection, run_id: str) -> None:
        """Check that it is the file in which the run began.

        Raises:
            StoreError: it is another one, which does not know what the run has done.
        """
        (found,) = database.execute("SELECT value FROM store_facts WHERE name = 'id'").fetchone()
        with self._lock:
            began = self._stores.get(run_id, found)  # a write that ends after its run has none
            if began and began != found:
                raise store_faults.vanished(self._path)
            if not began:
                self._stores[run_id] = found


def _named(write: Write) -> tuple[str, ...]:
    arguments = without_held(storable(write.arguments))
    return *name_of(write), write.fingerprint, arguments, write.run_id, storable(write.call_id)
