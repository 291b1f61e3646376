"""Traces that were read a moment ago: one page asks for the spans of its run piece by piece."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from traced_loop.read.trace import StoredTrace

MOST_TRACES: Final = 8
MOST_SPANS: Final = 100_000
"""Of all kept traces together; the last one is kept whatever it holds. A span takes some two kilobytes."""


class RecentTraces:
    """A few traces, each as it was at a stamp. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._traces: OrderedDict[str, tuple[str, StoredTrace]] = OrderedDict()

    def get(self, run_id: str, stamp: str, read: Callable[[], StoredTrace]) -> StoredTrace:
        """The trace of a run, read anew where it was not read at this stamp.

        Args:
            run_id: its full id.
            stamp: of the run, taken before this call.
            read: reads it.
        """
        with self._lock:
            known = self._traces.get(run_id)
            if known is not None and known[0] == stamp:
                self._traces.move_to_end(run_id)
                return known[1]
        trace = read()
        self.keep(run_id, stamp, trace)
        return trace

    def keep(self, run_id: str, stamp: str, trace: StoredTrace) -> None:
        """Take in a trace that was read elsewhere, after this stamp was taken."""
        with self._lock:
            self._traces[run_id] = stamp, trace
            self._traces.move_to_end(run_id)
            while len(self._traces) > 1 and self._is_too_much():
                self._traces.popitem(last=False)

    def _is_too_much(self) -> bool:
        spans = sum(len(trace.spans) for _, trace in self._traces.values())
        return len(self._traces) > MOST_TRACES or spans > MOST_SPANS
