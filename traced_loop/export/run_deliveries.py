"""What became of the spans of each run: how many wait, how many were taken, how many were not.

Bounded, whatever happens: known are the ``MAX_RUNS`` runs that ended a span last. A run that was forgotten has no
counts; one that was forgotten and went on has too few, which its receipt notices.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_RUNS: Final = 1_000


@dataclass(slots=True)
class Tally:
    """Counts of one run; what was handed over and is neither accepted nor refused waits."""

    handed: int = 0
    accepted: int = 0
    refused: int = 0


class RunDeliveries:
    """The counts of the last runs; any thread may ask and tell."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = threading.RLock()  # a signal handler may end a span in the middle
        self._runs: OrderedDict[str, Tally] = OrderedDict()

    def handed(self, run_id: str) -> None:
        """A span of a run is about to go into the queue."""
        with self._lock:
            tally = self._runs.get(run_id)
            if tally is None:
                tally = self._runs[run_id] = Tally()
                if len(self._runs) > MAX_RUNS:
                    self._runs.popitem(last=False)
            else:
                self._runs.move_to_end(run_id)
            tally.handed += 1

    def sent(self, counts: Mapping[str, int], *, taken: bool) -> None:
        """Spans came out of the queue and were sent, or were dropped by it; how many, by run."""
        with self._lock:
            for run_id, count in counts.items():
                tally = self._runs.get(run_id)
                if tally is not None:
                    tally.accepted += count if taken else 0
                    tally.refused += 0 if taken else count

    def resent(self, taken: Mapping[str, int]) -> None:
        """Spans that were refused or dropped were taken after all; how many, by run."""
        with self._lock:
            for run_id, count in taken.items():
                tally = self._runs.get(run_id)
                if tally is not None:
                    again = min(count, tally.refused)
                    tally.refused -= again
                    tally.accepted += again

    def of(self, run_id: str) -> Tally | None:
        """The counts of a run by now, or None where it is not known (any more)."""
        with self._lock:
            tally = self._runs.get(run_id)
            return None if tally is None else Tally(tally.handed, tally.accepted, tally.refused)
