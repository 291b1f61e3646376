"""What a person is asked about: writes of which nobody knows what came of them, and what they say of one."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from traced_loop.call_ledger import Resolution, Write
from traced_loop.errors import UsageError
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.leases import is_over
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import FILE, Store, store_folder
from traced_loop.records.write_rows import Name, WriteEvent, WriteRow, events_of_run, open_rows, rows_of_run


def open_writes(folder: Path | str | None, run_id: str | None = None) -> list[WriteRow]:
    """The writes that run or are unknown, of all runs or of one; what a process that is gone had running is unknown.

    Args:
        folder: of the store; None for the default one. It may be missing: no writes then.
        run_id: all writes of this run instead, however they ended.

    Raises:
        StoreError: the store cannot be read.
    """
    path = store_folder(folder) / FILE
    if not path.exists():
        return []
    index = IndexReader(path)
    rows = open_rows(index) if run_id is None else rows_of_run(index, run_id)
    return [replace(row, state="unknown") if _is_orphan(row) else row for row in rows]


def words_about(folder: Path | str | None, rows: list[WriteRow]) -> dict[Name, WriteEvent]:
    """Who made writes what they are, and how they know, of those that were not just run and ended by their loop.

    Args:
        folder: of the store; None for the default one.
        rows: writes of one run.

    Raises:
        StoreError: the store cannot be read.
    """
    if not rows:
        return {}
    events = events_of_run(IndexReader(store_folder(folder) / FILE), rows[0].run_id)
    last = {(event.name, event.number): event for event in events}
    found = {row.name: last.get((row.name, row.number)) for row in rows}
    states = {row.name: row.state for row in rows}
    return {
        name: event
        for name, event in found.items()
        if event is not None and event.by != "loop" and event.event == states[name]
    }


def settled_calls(folder: str | None, run_id: str) -> frozenset[str]:
    """The ids of calls of one run of whose writes the ledger knows what came of them, by itself or by a person's word.

    Raises:
        StoreError: the store cannot be read.
    """
    path = store_folder(folder) / FILE
    if not path.exists():
        return frozenset()
    doubtful = {row.call_id for row in open_writes(folder, run_id) if row.state in {"running", "unknown"}}
    recorded = events_of_run(IndexReader(path), run_id)
    return frozenset(event.call_id for event in recorded if event.call_id not in doubtful)


def needed_key(row: WriteRow, rows: Sequence[WriteRow]) -> str | None:
    """The key that has to be named to resolve an unknown write, or None where the id of its call is enough.

    Args:
        row: the write.
        rows: all of its run, or more.
    """
    of_call = sum(each.state == "unknown" and (each.run_id, each.call_id) == (row.run_id, row.call_id) for each in rows)
    return row.name[2] if of_call > 1 else None


def unknown_write(rows: list[WriteRow], call_id: str, key: str | None = None) -> WriteRow:
    """The write of one call that is to be resolved.

    Args:
        rows: of its run.
        call_id: the model's id; servers use one again in later steps.
        key: its idempotency key, where the id alone is not enough.

    Raises:
        UsageError: there is none, or several, or it is not unknown; the message says what there is.
    """
    of_call = [row for row in rows if row.call_id == call_id and key in {None, row.name[2]}]
    unknown = [row for row in of_call if row.state == "unknown"]
    if len(unknown) == 1:
        return unknown[0]
    if unknown:
        keys = ", ".join(repr(row.name[2]) for row in unknown)
        raise UsageError(f"the call {call_id!r} has {len(unknown)} unknown writes: say which with --key, of {keys}")
    if of_call:
        said = {row.state for row in of_call}
        more = ": it still runs, so end its process first" if said == {"running"} else ""
        raise UsageError(f"the call {call_id!r} is not unknown but {', '.join(sorted(said))}{more}")
    ids = ", ".join(sorted({row.call_id for row in rows if row.state == "unknown"})) or "none"
    raise UsageError(f"this run has no write with the call id {call_id!r}; its unknown writes: {ids}")


def resolve_write(folder: Path | str | None, row: WriteRow, resolution: Resolution) -> None:
    """Say in the ledger what came of a write.

    Raises:
        StoreError: the store cannot be written.
        UsageError: it has become known meanwhile.
    """
    tool, scope, key = row.name
    write = Write(
        tool=tool,
        key=key,
        fingerprint=row.fingerprint,
        declared=not scope,
        run_id=scope or row.run_id,
        call_id=row.call_id,
        arguments=row.arguments,
    )
    if not DurableLedger(Store.open(folder)).resolve(write, row.number, resolution):
        raise UsageError(f"the write of the call {row.call_id!r} has become known meanwhile: see `traced-loop ledger`")


def _is_orphan(row: WriteRow) -> bool:
    now, ticks = time.time_ns(), time.monotonic_ns()
    return row.state == "running" and is_over(row.owner, row.lease_ns, row.lease_ticks, now_ns=now, ticks=ticks)
