"""Diagnoses of runs that have ended, kept for a while: such a run gives the same one each time."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from traced_loop.web.shown_findings import ShownDiagnosis

MOST: Final = 32


class KeptDiagnoses:
    """The last ones that were asked for; may be used from any thread."""

    def __init__(self, most: int = MOST) -> None:
        """Keep nothing yet.

        Args:
            most: of them.
        """
        self._most = most
        self._kept: OrderedDict[str, tuple[str, ShownDiagnosis]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, run_id: str, stamp: str, make: Callable[[], tuple[ShownDiagnosis, bool]]) -> ShownDiagnosis:
        """A diagnosis, made anew only where there is none at this stamp.

        Args:
            run_id: its full id.
            stamp: of its spans and its part of the ledger, taken before they are read.
            make: gives it, and whether the run has ended: that of another one is not kept.
        """
        with self._lock:
            known = self._kept.get(run_id)
            if known is not None and known[0] == stamp:
                self._kept.move_to_end(run_id)
                return known[1]
        made, has_ended = make()
        if has_ended:
            with self._lock:
                self._kept[run_id] = stamp, made
                self._kept.move_to_end(run_id)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return made
