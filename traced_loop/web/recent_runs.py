"""Runs that were read a moment ago: one page asks for the spans of its run piece by piece."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from traced_loop.read.local_store import StoredRun

_KEPT: Final = 4
"""Runs, the last that were asked for: a large one takes megabytes."""


class RecentRuns:
    """A few stored runs, each as it was at a stamp. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, tuple[str, StoredRun]] = OrderedDict()

    def get(self, run_id: str, stamp: str, read: Callable[[], StoredRun]) -> StoredRun:
        """A run, read anew where it was not read at this stamp.

        Args:
            run_id: its full id.
            stamp: of the run, taken before this call.
            read: reads it.
        """
        with self._lock:
            known = self._runs.get(run_id)
            if known is not None and known[0] == stamp:
                self._runs.move_to_end(run_id)
                return known[1]
        run = read()
        with self._lock:
            self._runs[run_id] = stamp, run
            self._runs.move_to_end(run_id)
            while len(self._runs) > _KEPT:
                self._runs.popitem(last=False)
        return run
