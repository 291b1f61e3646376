"""What waits for a person in the runs of one store: for the page of confirmations, and as a number for every page."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from traced_loop.errors import StoreError, UsageError
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_entry import RunEntry
from traced_loop.waiting_calls import WaitingRun, waiting_run

MAX_RUNS: Final = 100
"""Runs that are read; the newest ones of more."""

_Key = tuple[object, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What waits.

    Attributes:
        runs: newest first.
        is_more: whether older ones were not read.
        unreadable: ids of runs that may wait and whose messages are damaged.
    """

    runs: tuple[WaitingRun, ...] = ()
    is_more: bool = False
    unreadable: tuple[str, ...] = ()


class PendingCalls:
    """Reads one store, whoever writes it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._counted: dict[_Key, int] = {}

    def all(self) -> Waiting:
        """What waits now, read anew."""
        found: list[WaitingRun] = []
        unreadable: list[str] = []
        with LocalStore.open(self._folder) as store:
            entries = store.runs_that_may_wait(MAX_RUNS + 1)
            for entry in entries[:MAX_RUNS]:
                try:
                    run = waiting_run(store, entry.run_id)
                except (UsageError, StoreError):
                    unreadable.append(entry.run_id)
                    continue
                if run is not None:
                    found.append(run)
        return Waiting(runs=tuple(found), is_more=len(entries) > MAX_RUNS, unreadable=tuple(unreadable))

    def of_run(self, run_id: str) -> WaitingRun | None:
        """What waits in one run, read anew; None for nothing, and for a run whose messages are damaged."""
        with LocalStore.open(self._folder) as store:
            try:
                return waiting_run(store, run_id)
            except (UsageError, StoreError):
                return None

    def count(self) -> tuple[int, bool]:
        """How many calls wait, and whether there may be more in older runs; a run is read once for each of its ends."""
        with LocalStore.open(self._folder) as store:
            entries = store.runs_that_may_wait(MAX_RUNS + 1)
            with self._lock:
                known = self._counted
            counted = {_key(entry): _counted(store, entry, known) for entry in entries[:MAX_RUNS]}
        with self._lock:
            self._counted = counted
        return sum(counted.values()), len(entries) > MAX_RUNS


def _key(entry: RunEntry) -> _Key:
    return entry.run_id, entry.trace_id, entry.ended_at, entry.state


def _counted(store: LocalStore, entry: RunEntry, known: dict[_Key, int]) -> int:
    found = known.get(_key(entry))
    if found is not None:
        return found
    try:
        run = waiting_run(store, entry.run_id)
    except (UsageError, StoreError):
        return 0
    return 0 if run is None else len(run.waiting)
