"""What became of the spans of each run: how many wait, how many were taken, how many were not.

Bounded, whatever happens: known are the ``MAX_RUNS`` runs that ended a span last, and as many spans as can wait.
A run that was forgotten has no counts; one that was forgotten and went on has too few, which its receipt notices.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from traced_loop import names

MAX_RUNS: Final = 1_000


@dataclass(slots=True)
class Tally:
    """Counts of one run; what was handed over and is neither accepted nor refused waits."""

    handed: int = 0
    accepted: int = 0
    refused: int = 0


class RunDeliveries:
    """The counts of the last runs; any thread may ask and tell."""

    def __init__(self, most_waiting: int) -> None:
        """Know nothing yet.

        Args:
            most_waiting: spans that the queue and a request hold at most; older ones were dropped by the queue.
        """
        self._most_waiting = most_waiting
        self._lock = threading.RLock()  # a signal handler may end a span in the middle
        self._runs: OrderedDict[str, Tally] = OrderedDict()
        self._waiting: OrderedDict[int, str] = OrderedDict()
        self.dropped = 0
        """Spans of runs that a full queue has dropped, as far as is known by now."""

    def handed(self, span: ReadableSpan) -> None:
        """A span goes into the queue."""
        run_id = (span.attributes or {}).get(names.RUN_ID)
        if not isinstance(run_id, str) or span.context is None:
            return
        with self._lock:
            tally = self._runs.setdefault(run_id, Tally())
            self._runs.move_to_end(run_id)
            tally.handed += 1
            self._waiting[span.context.span_id] = run_id
            if len(self._runs) > MAX_RUNS:
                self._runs.popitem(last=False)
            while len(self._waiting) > self._most_waiting:
                self._drop_oldest()

    def sent(self, spans: Sequence[ReadableSpan], *, taken: bool) -> None:
        """Spans came out of the queue, in its order, and were sent."""
        with self._lock:
            for span in spans:
                if span.context is not None and span.context.span_id in self._waiting:
                    self._sent(span.context.span_id, taken=taken)

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

    def _sent(self, span_id: int, *, taken: bool) -> None:
        while next(iter(self._waiting)) != span_id:
            self._drop_oldest()  # the queue is in order: what was before this one and did not come was dropped
        _, run_id = self._waiting.popitem(last=False)
        tally = self._runs.get(run_id)
        if tally is not None:
            tally.accepted += taken
            tally.refused += not taken

    def _drop_oldest(self) -> None:
        _, run_id = self._waiting.popitem(last=False)
        self.dropped += 1
        tally = self._runs.get(run_id)
        if tally is not None:
            tally.refused += 1
