"""How large the store may grow: the oldest runs that owe nothing go first, and when none is left, no run is recorded.

Looked at in the background, once a minute of all processes that record in it, and after so many bytes of one. What a
run costs for it is one ``stat`` when it begins.
"""

import atexit
import logging
import os
import stat
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from traced_loop import names
from traced_loop.errors import StoreError, StoreFull, UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import UNKNOWN_OUTCOMES, StopReason
from traced_loop.records.delivery_marks import OWED, DeliveryMarks
from traced_loop.records.file_locks import locked
from traced_loop.records.owed_spans import OwedSpans, Selection
from traced_loop.records.store import Store, append_private
from traced_loop.records.trace_store import OPEN_SUFFIX

VARIABLE: Final = "TRACED_LOOP_STORE_MAX_BYTES"
DEFAULT_BYTES: Final = 2 * 1024**3
"""Some hundred thousand short runs."""
KEPT_PART: Final = 0.9
"""What of the limit is left after room was made, so that it is not made for each run."""
EVERY_SECONDS: Final = 60.0
EVERY_BYTES: Final = 16_000_000
EXIT_SECONDS: Final = 1.0
MAX_REMEMBERED: Final = 10_000
"""Runs of which it is remembered whether they found room, so that of each all or nothing is recorded."""

_LOGGER: Final = logging.getLogger("traced_loop.records")
_ENDED: Final = "SELECT run_id, stop_reason FROM runs WHERE ended_ns IS NOT NULL ORDER BY started_ns"
_OPEN_WRITES: Final = "SELECT DISTINCT run_id FROM writes WHERE state IN ('running', 'unknown')"
_PAGES: Final = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)
_OPEN_ENDS: Final = frozenset({StopReason.OUTCOME_UNKNOWN, StopReason.UNKNOWN_AFTER_CRASH})
_UNKNOWN: Final = tuple(
    f'"{names.CALL_OUTCOME}","value":{{"stringValue":"{outcome}"'.encode() for outcome in sorted(UNKNOWN_OUTCOMES)
)


def max_bytes(environment: Mapping[str, str]) -> int | None:
    """The limit of a store in bytes; None for no limit.

    Raises:
        UsageError: ``TRACED_LOOP_STORE_MAX_BYTES`` is no number.
    """
    given = environment.get(VARIABLE, "").strip()
    if not given:
        return DEFAULT_BYTES
    if not given.isdecimal():
        raise UsageError(f"{VARIABLE}={given}: a number of bytes, or 0 for no limit")
    return int(given) or None


@frozen_value
class Fullness:
    """How full a store is.

    Attributes:
        used: bytes of its runs and of what is known about them.
        limit: bytes that it may have; None for no limit.
        removed: runs that were removed to make room.
    """

    used: int
    limit: int | None
    removed: int = 0

    @property
    def is_full(self) -> bool:
        """Whether no further run is recorded."""
        return self.limit is not None and self.used > self.limit


def used_bytes(store: Store) -> int:
    """Bytes of the span files, and of the index without what is free in it.

    Raises:
        StoreError: the index cannot be read.
    """
    total = int(store.read(_PAGES)[0][0])
    with suppress(FileNotFoundError), os.scandir(store.spans_folder) as found:
        for entry in found:
            with suppress(FileNotFoundError):
                total += entry.stat().st_size
    return total


def make_room(store: Store, limit: int) -> Fullness:
    """Remove the oldest runs until the store is well below the limit, if it is above.

    A run stays that has not ended, that owes spans to a collector, in which a write may have happened that nobody knows
    of, or that is being sent.

    Args:
        store: an open one.
        limit: bytes that it may have.

    Raises:
        StoreError: the index cannot be read or written.
    """
    used, removed = used_bytes(store), 0
    if used <= limit:
        return Fullness(used=used, limit=limit)
    marks = DeliveryMarks(store.folder)
    owed = OwedSpans(store.folder, marks, store.read)
    settled = marks.sizes()
    undecided = {run_id for (run_id,) in store.read(_OPEN_WRITES)}
    for run_id, stop_reason in store.read(_ENDED):
        if used <= limit * KEPT_PART:
            break
        path = owed.path(run_id)
        with locked(path) as is_held:
            if (path.exists() and not is_held) or stop_reason in _OPEN_ENDS or run_id in undecided:
                continue
            if _may_go(path, settled.get(run_id), owed, run_id):
                used -= _removed(store, path, run_id)
                removed += 1
                marks.forget([run_id])
    marks.close()
    return Fullness(used=used, limit=limit, removed=removed)


def _may_go(path: Path, settled: int | None, owed: OwedSpans, run_id: str) -> bool:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return True
    if any(unknown in data for unknown in _UNKNOWN):
        return False
    return settled == len(data) or next(owed.of(run_id, Selection(destination=OWED)), None) is None


def _removed(store: Store, path: Path, run_id: str) -> int:
    """Remove a run, its files first: a row without files is found again when this is interrupted."""
    size = 0
    with suppress(FileNotFoundError):
        size = path.stat().st_size
    texts = store.read("SELECT coalesce(sum(length(body)), 0) FROM messages WHERE run_id = ?", (run_id,))
    for each in (path, path.with_name(f"{run_id}{OPEN_SUFFIX}")):
        each.unlink(missing_ok=True)
    for table in ("messages", "progress", "runs"):
        store.write(f"DELETE FROM {table} WHERE run_id = ?", [(run_id,)])  # noqa: S608 - constants
    return size + int(texts[0][0])


class RoomWatch:
    """Looks in the background whether the store has room, and refuses the runs that begin while it has none."""

    def __init__(self, store: Store, limit: int | None) -> None:
        """Look at nothing yet.

        Args:
            store: an open one.
            limit: bytes that it may have; None for no limit.
        """
        self._store = store
        self._limit = limit
        self._mark = f"{store.folder}{os.sep}room"
        self._refused: dict[str, None] = {}
        self._begun: dict[str, None] = {}
        """Runs that found room: whatever a look finds meanwhile, they are recorded to their end."""
        self._unseen = 0
        self._looking: threading.Thread | None = None
        self._warned = False

    def begins(self, run_id: str) -> None:
        """A run begins to be recorded: its messages or its spans, whichever come first.

        Raises:
            StoreFull: there is no room for it.
        """
        if self._limit is None or run_id in self._begun:
            return
        try:
            found = os.stat(self._mark)  # noqa: PTH116 - a Path costs more than the call
        except OSError:
            found = None
        if found is not None and not stat.S_ISREG(found.st_mode):
            found = None  # nobody's answer
        if found is None or self._unseen > EVERY_BYTES or abs(time.time() - found.st_mtime) > EVERY_SECONDS:
            self._look()
        is_full = found is not None and found.st_size > 0
        known = self._refused if is_full else self._begun
        known[run_id] = None
        if len(known) > MAX_REMEMBERED:
            del known[next(iter(known))]
        self.check(run_id)

    def check(self, run_id: str) -> None:
        """Something of a run is about to be recorded.

        Raises:
            StoreFull: there was no room for the run.
        """
        if self._refused and run_id in self._refused:
            text = self._text()
            if not self._warned:
                self._warned = True
                _LOGGER.warning("%s", text)
            raise StoreFull(text)

    def wrote(self, size: int) -> None:
        """So many bytes were written."""
        self._unseen += size

    def _text(self) -> str:
        return (
            f"the store {self._store.folder} has {VARIABLE}={self._limit} bytes and more, and no run in it may go: runs"
            " are not recorded. Send what it owes with `traced-loop deliver`, allow more, or use another store"
        )

    def _look(self) -> None:
        looking = self._looking
        if looking is not None and looking.is_alive():
            return
        self._unseen = 0
        self._looking = threading.Thread(target=self._work, name="traced-loop-room", daemon=True)
        self._looking.start()
        atexit.unregister(self.wait)
        atexit.register(self.wait)

    def wait(self) -> None:
        """Wait for a look that goes on, a second at most: a process that lives for a moment would never get to it."""
        if self._looking is not None:
            self._looking.join(EXIT_SECONDS)

    def _work(self) -> None:
        if self._limit is None:
            return
        try:
            room = make_room(self._store, self._limit)
            self._say(is_full=room.is_full)
        except (StoreError, OSError) as error:
            _LOGGER.debug("whether the store has room is not known: %s", error)

    def _say(self, *, is_full: bool) -> None:
        """Leave the answer for all processes: an empty file, or one that is not, as old as the answer."""
        path = Path(self._mark)
        fresh = path.with_name(f"room.{os.getpid()}.new")
        append_private(fresh, b"full\n" if is_full else b"")
        fresh.replace(path)
