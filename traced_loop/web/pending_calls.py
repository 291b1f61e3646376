"""What waits for a person in the runs of one store: for the page of confirmations, and as a number for every page."""

from pathlib import Path
from typing import Final

from traced_loop.errors import StoreError, UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.read.local_store import LocalStore, UnsettledRun
from traced_loop.waiting_calls import WaitingRun, waiting_run
from traced_loop.web.typed_commands import is_scripted

MAX_RUNS: Final = 100
"""Runs with calls that wait that are read; the newest ones of more."""


@frozen_value
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


@frozen_value
class _Found:
    """How many calls of a run wait, and whether a script played its model."""

    calls: int = 0
    is_scripted: bool = False


class PendingCalls:
    """Reads one store, whoever writes it. What was found of a run holds until the run goes on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[UnsettledRun, _Found] = {}

    def all(self) -> Waiting:
        """What waits now, read anew."""
        found: list[WaitingRun] = []
        unreadable: list[str] = []
        with LocalStore.open(self._folder) as store:
            known, is_more = self._counted(store)
            for each in (each for each, count in known.items() if count.calls):
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
        """How many calls wait, and whether there may be more in older runs.

        Those of runs that a script played are left out: they are shown, and nobody has to answer them.
        """
        with LocalStore.open(self._folder) as store:
            known, is_more = self._counted(store)
        return sum(each.calls for each in known.values() if not each.is_scripted), is_more

    def _counted(self, store: LocalStore) -> tuple[dict[UnsettledRun, _Found], bool]:
        """How many calls wait in each run that may go on, newest first, and whether some were not looked at."""
        before, found, waiting = self._known, dict[UnsettledRun, _Found](), 0
        runs = [run for run in store.unsettled() if run.state in {"ended", "died"}]
        may = store.that_may_wait([run.run_id for run in runs if not run.is_paused and run not in before])
        for run in runs:
            count = before.get(run)
            if count is None:
                count = _count(store, run.run_id) if run.is_paused or run.run_id in may else _Found()
            found[run] = count
            waiting += count.calls > 0
            if waiting == MAX_RUNS:
                break
        self._known = found
        return found, len(found) < len(runs)


def _count(store: LocalStore, run_id: str) -> _Found:
    """Calls that wait; 1 of a run that cannot be read, about which a person is to be told."""
    try:
        run = waiting_run(store, run_id)
    except (UsageError, StoreError):
        return _Found(calls=1)
    return _Found() if run is None else _Found(calls=len(run.waiting), is_scripted=is_scripted(run.model))
