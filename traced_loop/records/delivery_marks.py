"""Which spans of the store a collector has taken, or refused for good: ``delivery.db``, beside the index of runs.

Written in the background and by ``deliver`` only, never on a run's path: what a run owes is said by its span files.
When this file is lost, spans are sent once more; when it cannot be written, likewise.
"""

import sqlite3
import struct
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from traced_loop.closed_words import Refusal
from traced_loop.errors import StoreError
from traced_loop.frozen_value import frozen_value
from traced_loop.records.database import Database

FILE_NAME: Final = "delivery.db"
BUSY_SECONDS: Final = 0.5
"""How long a mark waits for another process's, which takes microseconds; a fork waits for a mark."""

OWED: Final = ""
"""Stands for a destination where it is about what is owed, to whomever it is."""

_FORMAT: Final = 1
_SCHEMA: Final = (
    # Up to which byte of a run's span file everything was taken by a destination, or refused by it for good.
    "CREATE TABLE IF NOT EXISTS settled (run_id TEXT NOT NULL, destination TEXT NOT NULL, bytes INTEGER NOT NULL,"
    " PRIMARY KEY (run_id, destination)) STRICT, WITHOUT ROWID",
    # Spans that were taken beyond that: eight bytes each.
    "CREATE TABLE IF NOT EXISTS taken (run_id TEXT NOT NULL, destination TEXT NOT NULL, spans BLOB NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS taken_by_run ON taken (run_id)",
    "CREATE TABLE IF NOT EXISTS refused (run_id TEXT NOT NULL, destination TEXT NOT NULL, span_id INTEGER NOT NULL,"
    " reason TEXT NOT NULL, at_ns INTEGER NOT NULL, PRIMARY KEY (run_id, destination, span_id)) STRICT, WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS destinations (destination TEXT PRIMARY KEY, shown TEXT NOT NULL) STRICT, WITHOUT ROWID",
    f"PRAGMA user_version={_FORMAT}",
)
_SIGN: Final = 1 << 63


@frozen_value
class RunMarks:
    """What is known of one run.

    Attributes:
        settled: bytes up to which all is settled, by destination; ``OWED`` for what is owed.
        taken: ids of spans that were taken beyond that, by destination.
        refused: spans that were refused for good, and why, by destination.
    """

    settled: Mapping[str, int] = field(default_factory=dict[str, int])
    taken: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    refused: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])


class DeliveryMarks:
    """The marks of one store. One object may be used from any thread, and in forked children; opened when needed."""

    def __init__(self, folder: Path) -> None:
        """Know where the marks are; nothing is opened or made yet.

        Args:
            folder: of the store.
        """
        self._path = folder / FILE_NAME
        self._database = Database(self._path, tables=_make_ready, seconds=BUSY_SECONDS)

    def taken(self, destination: str, spans: Mapping[str, Sequence[int]]) -> None:
        """A destination took these spans; span ids by run.

        Raises:
            StoreError: it cannot be written.
        """
        rows = [(run_id, destination, _packed(ids)) for run_id, ids in spans.items() if ids]
        with self._writing() as database:
            database.executemany("INSERT INTO taken VALUES (?, ?, ?)", rows)

    def refused(self, destination: str, spans: Iterable[tuple[str, int, Refusal]]) -> None:
        """A destination refused these spans for good: run, span id and why.

        Raises:
            StoreError: it cannot be written.
        """
        now = time.time_ns()
        rows = [(run_id, destination, _signed(span_id), reason, now) for run_id, span_id, reason in spans]
        with self._writing() as database:
            database.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?)", rows)

    def settle(self, run_id: str, destinations: Iterable[str], size: int) -> None:
        """All of a run's span file up to that byte is settled with these destinations, ``OWED`` among them perhaps.

        Raises:
            StoreError: it cannot be written.
        """
        chosen = list(destinations)
        with self._writing() as database:
            database.executemany(
                "INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", [(run_id, each, size) for each in chosen]
            )
            database.executemany(
                "DELETE FROM taken WHERE run_id = ? AND destination = ?", [(run_id, each) for each in chosen if each]
            )

    def name(self, destination: str, shown: str) -> None:
        """Remember what people call a destination: its address without credentials.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO destinations VALUES (?, ?)", (destination, shown))

    def forget(self, run_ids: Iterable[str]) -> None:
        """Remove what is known of runs that are no more.

        Raises:
            StoreError: it cannot be written.
        """
        rows = [(run_id,) for run_id in run_ids]
        with self._writing() as database:
            for table in ("settled", "taken", "refused"):
                database.executemany(f"DELETE FROM {table} WHERE run_id = ?", rows)  # noqa: S608 - constants

    def sizes(self) -> dict[str, int]:
        """Up to which byte nothing is owed of each run's span file; runs of which that is not known are left out.

        Raises:
            StoreError: it cannot be read.
        """
        rows = self._rows("SELECT run_id, bytes FROM settled WHERE destination = ?", (OWED,))
        return {str(run_id): int(size) for run_id, size in rows}

    def names(self) -> dict[str, str]:
        """What people call the destinations that were ever used.

        Raises:
            StoreError: it cannot be read.
        """
        return {str(key): str(shown) for key, shown in self._rows("SELECT destination, shown FROM destinations", ())}

    def refusals(self) -> dict[str, int]:
        """How many spans were refused for good, by reason.

        Raises:
            StoreError: it cannot be read.
        """
        rows = self._rows("SELECT reason, count(*) FROM refused GROUP BY reason", ())
        return {str(reason): int(count) for reason, count in rows}

    def of(self, run_id: str) -> RunMarks:
        """What is known of one run.

        Raises:
            StoreError: it cannot be read.
        """
        settled = self._rows("SELECT destination, bytes FROM settled WHERE run_id = ?", (run_id,))
        taken: dict[str, set[int]] = {}
        for destination, packed in self._rows("SELECT destination, spans FROM taken WHERE run_id = ?", (run_id,)):
            taken.setdefault(str(destination), set()).update(_unpacked(packed))
        refused: dict[str, dict[int, str]] = {}
        for destination, span_id, reason in self._rows(
            "SELECT destination, span_id, reason FROM refused WHERE run_id = ?", (run_id,)
        ):
            refused.setdefault(str(destination), {})[int(span_id) % (2 * _SIGN)] = str(reason)
        return RunMarks(
            settled={str(destination): int(size) for destination, size in settled},
            taken={destination: frozenset(ids) for destination, ids in taken.items()},
            refused=refused,
        )

    def close(self) -> None:
        """Close the file; a later use opens it again. Closing twice is fine."""
        self._database.close()

    def _rows(self, query: str, parameters: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """None where nothing was ever marked: reading makes no file."""
        if not self._path.exists():
            return []
        with self._told():
            self._open()
            with self._database.using() as connection:
                return connection.execute(query, parameters).fetchall()

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._told():
            self._open()
            with self._database.transaction() as connection:
                yield connection

    def _open(self) -> None:
        """A file that was taken away or replaced is begun anew, or opened; what it said is lost, and sent once more."""
        self._database.open(make=not (self._path.exists() and self._database.in_place()))

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except StoreError as error:
            if error.why == "newer":
                raise
            raise StoreError(
                f"{self._path} cannot be used ({error.__cause__ or error.why}). Nothing was changed: move it away to"
                " begin a new one, and spans that were delivered before may be sent once more",
                why=error.why,
            ) from error


def _make_ready(path: Path, connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > _FORMAT:
        raise StoreError(f"{path} was written by a newer traced_loop: upgrade traced-loop", why="newer")
    if version == _FORMAT:
        return
    connection.execute("PRAGMA journal_mode=WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)


def _packed(span_ids: Sequence[int]) -> bytes:
    return struct.pack(f">{len(span_ids)}Q", *span_ids)


def _unpacked(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(packed) // 8}Q", packed)


def _signed(span_id: int) -> int:
    """SQLite's integers have a sign."""
    return span_id - 2 * _SIGN if span_id >= _SIGN else span_id
