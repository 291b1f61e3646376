"""Diagnoses of runs that have ended, kept for a while: such a run gives the same one each time."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from traced_loop.records.trace_store import ENDED_SUFFIX
from traced_loop.web.shown_findings import ShownDiagnosis

MOST: Final = 32

Key = tuple[str, str, int, int]
"""Store, run, and when and how large its span file was."""


class KeptDiagnoses:
    """The last ones that were asked for; may be used from any thread."""

    def __init__(self, most: int = MOST) -> None:
        """Keep nothing yet.

        Args:
            most: of them.
        """
        self._most = most
        self._kept: OrderedDict[Key, ShownDiagnosis] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folder: Path, run_id: str, make: Callable[[], tuple[ShownDiagnosis, bool]]) -> ShownDiagnosis:
        """A diagnosis, made anew only where there is none of the run as it is now.

        Args:
            folder: of the store.
            run_id: whose.
            make: gives it, and whether the run has ended: that of another one is not kept.
        """
        key = _key(folder, run_id)
        with self._lock:
            found = None if key is None else self._kept.get(key)
            if key is not None and found is not None:
                self._kept.move_to_end(key)
                return found
        made, has_ended = make()
        # What was recorded while it was made may not be in it.
        if has_ended and key is not None and key == _key(folder, run_id):
            with self._lock:
                self._kept[key] = made
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return made


def _key(folder: Path, run_id: str) -> Key | None:
    try:
        found = (folder / "spans" / f"{run_id}{ENDED_SUFFIX}").stat()
    except (OSError, ValueError):
        return None
    return str(folder), run_id, found.st_mtime_ns, found.st_size
