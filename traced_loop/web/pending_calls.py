"""What waits for a person in the runs of one store: for the page of confirmations, and as a number for every page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from traced_loop.errors import StoreError, UsageError
from traced_loop.read.local_store import LocalStore, UnsettledRun
from traced_loop.waiting_calls import WaitingRun, waiting_run

MAX_RUNS: Final = 100
"""Runs with calls that wait that are read; the newest ones of more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What waits.

    Attributes:
        runs: newest first.
        is_more: whether there may be older ones, which were not read.
        unreadable: ids of runs that may wait and whose messages are damaged.
    """

    runs: tuple[WaitingRun, ...] = ()
    is_more: bool = False
    unreadable: tuple[str, ...] = ()


class PendingCalls:
    """Reads one store, whoever writes it. What was found of a run holds until the run goes on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[UnsettledRun, int] = {}

    def all(self) -> Waiting:
        """What waits now, read anew."""
        found: list[WaitingRun] = []
        unreadable: list[str] = []
        with LocalStore.open(self._folder) as store:
            known, is_more = self._counted(store)
            for each in (each for each, count in known.items() if count):
                try:
                    run = waiting_run(store, each.run_id)
                except (UsageError, StoreError):
                    unreadable.append(each.run_id)
                    continue
                if run is not None:
                    found.append(run)
        return Waiting(runs=tuple(found), is_more=is_more, unreadable=tuple(unreadable))

    def of_run(self, run_id: str) -> WaitingRun | None:
        """What waits in one run, read anew; None for nothing, and for a run whose messages are damaged."""
        with LocalStore.open(self._folder) as store:
            try:
                return waiting_run(store, run_id)
            except (UsageError, StoreError):
                return None

    def count(self) -> tuple[int, bool]:
        """How many calls wait, and whether there may be more in older runs."""
        with LocalStore.open(self._folder) as store:
            known, is_more = self._counted(store)
        return sum(known.values()), is_more

    def _counted(self, store: LocalStore) -> tuple[dict[UnsettledRun, int], bool]:
        """How many calls wait in each run that may go on, newest first, and whether some were not looked at."""
        before, found, waiting = self._known, dict[UnsettledRun, int](), 0
        runs = [run for run in store.unsettled() if run.state in {"ended", "died"}]
        may = store.that_may_wait([run.run_id for run in runs if not run.is_paused and run not in before])
        for run in runs:
            count = before.get(run)
            if count is None:
                count = _count(store, run.run_id) if run.is_paused or run.run_id in may else 0
            found[run] = count
            waiting += count > 0
            if waiting == MAX_RUNS:
                break
        self._known = found
        return found, len(found) < len(runs)


def _count(store: LocalStore, run_id: str) -> int:
    """Calls that wait; 1 of a run that cannot be read, about which a person is to be told."""
    try:
        run = waiting_run(store, run_id)
    except Exception:  # noqa: BLE001 - every page counts, and no damage of one run may be the end of all of them
        return 1
    return 0 if run is None else len(run.waiting)
