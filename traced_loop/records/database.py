"""One way to an SQLite file of the store: a connection that any thread may use, and that crosses no fork.

A file that was taken away, or in whose place another one stands, is noticed at each use: what SQLite writes into a file
without a name is lost, and it says nothing.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, TypeVar

from traced_loop.errors import StoreError
from traced_loop.records import store_faults
from traced_loop.records.forks import at_forks
from traced_loop.records.private_files import alone_in, write_new
from traced_loop.records.store_schema import make_ready

T = TypeVar("T")
MakeReady = Callable[[Path, sqlite3.Connection], None]
"""Makes the tables that a file lacks, whoever else does so at the same time; it raises ``StoreError`` where a newer
version wrote the file, and is called again while the file is locked."""

BUSY_SECONDS: Final = 1.0
"""How long a write waits for another process's write, which takes milliseconds; a longer one costs a record, not the
run's time."""
_FIRST_WAIT: Final = 0.0005
_LONGEST_WAIT: Final = 0.004
"""Seconds between two looks at a file that another process writes: SQLite's own waits grow to a tenth of a second, and
whoever came first waits longest."""


class Database:
    """A connection to one file."""

    def __init__(
        self, path: Path, *, tables: MakeReady = make_ready, durable: bool = False, seconds: float = BUSY_SECONDS
    ) -> None:
        """Nothing is opened yet.

        Args:
            path: of the file.
            tables: makes them, those of the index of runs by default.
            durable: whether what is committed survives a power cut (``synchronous=FULL``), not only ``kill -9``.
            seconds: how long another process's write is waited for.
        """
        self.path = path
        self._suspicion = path.with_name(f"{path.name}.suspect")
        self._tables = tables
        self._durable = durable
        self._seconds = seconds
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._lock = threading.Lock()
        at_forks(self)

    def __del__(self) -> None:
        self._disconnect()

    def open(self, *, make: bool = False, alone: bool = False) -> None:
        """Open the file, and bring its tables up to date; one that was found damaged in use is looked through.

        Args:
            make: also where there is none yet.
            alone: whether the caller keeps others from opening or making one at the same time.

        Raises:
            StoreError: it cannot be opened or written, is damaged, or a newer version wrote it.
        """
        with self._lock:
            if make and (self._connection is None or not self.in_place()):
                self._make(alone=alone)
            connection = self._connected(alone=alone)
            if not self.suspected():
                return
            try:
                found = connection.execute("PRAGMA quick_check(1)").fetchone()
                if found != ("ok",):
                    raise sqlite3.DatabaseError(found[0])
            except sqlite3.Error as error:
                self._disconnect()
                raise StoreError(store_faults.damage_text(self.path, error), why="damaged") from error
            self.cleared()

    def suspected(self) -> bool:
        """Whether somebody has found the file damaged while it was in use."""
        return self._suspicion.exists()

    def cleared(self) -> None:
        """The file in its place is whole."""
        self._suspicion.unlink(missing_ok=True)

    def in_place(self) -> bool:
        """Whether the file that is open is the one that its path names; True where none is open yet."""
        return self._file is None or self._file == _file_at(self.path)

    @contextmanager
    def using(self) -> Generator[sqlite3.Connection]:
        """The connection, for the time of the block; what fails in it is a ``StoreError``.

        Raises:
            StoreError: the file cannot be read or written, or was taken away.
        """
        with self._lock:
            connection = self._connected()
            try:
                yield connection
            except sqlite3.Error as error:
                raise self._failed(error) from error

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """The same, with all that the block does committed at its end, or nothing of it.

        Raises:
            StoreError: as ``using``; whether the commit itself came to be is not known then.
        """
        with self.using() as connection:
            self._waited(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                yield connection
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def close(self) -> None:
        """Close the file; a later use opens it again. Closing twice is fine."""
        with self._lock:
            self._disconnect()

    def before_fork(self) -> None:
        """Let go of the file: SQLite's state must not cross a fork. Called by the interpreter."""
        self._lock.acquire()
        self._disconnect()

    def after_fork(self) -> None:
        """Go on, in the parent and in the child; each opens the file again when it needs it."""
        self._lock.release()

    def _failed(self, error: sqlite3.Error) -> StoreError:
        """What is said of an error; damage is noted, since a file with a hole may open all the same."""
        if store_faults.fault_of(error) == "damaged":
            with suppress(OSError):
                write_new(self._suspicion, b"")
        return store_faults.failed(self.path, error)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._file = None

    def _make(self, *, alone: bool) -> None:
        """Begin an empty file where there is none, without the log of one that was there before."""
        self._disconnect()
        try:
            with nullcontext() if alone else alone_in(self.path.parent):
                if not self.path.exists():
                    for end in ("-wal", "-shm"):
                        self.path.with_name(f"{self.path.name}{end}").unlink(missing_ok=True)
                    write_new(self.path, b"")
        except OSError as error:
            raise store_faults.unwritable(self.path, error) from error

    def _connected(self, *, alone: bool = False) -> sqlite3.Connection:
        if self._connection is not None:
            if self.in_place():
                return self._connection
            raise store_faults.vanished(self.path)
        try:
            # SQLite finds a file's log by its name: opened while another process puts a new file into the place of a
            # damaged one, the old file would leave a log beside the new one.
            with nullcontext() if alone else alone_in(self.path.parent):
                return self._opened()
        except OSError as error:
            raise store_faults.unwritable(self.path, error) from error

    def _opened(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise FileNotFoundError(2, "No such file or directory", str(self.path))
        try:
            connection = sqlite3.connect(self.path, timeout=0.0, check_same_thread=False, isolation_level=None)
        except sqlite3.Error as error:
            raise store_faults.unwritable(self.path, error) from error
        try:
            self._waited(lambda: self._prepare(connection))
            self._file = _file_at(self.path)
        except sqlite3.Error as error:
            connection.close()
            raise store_faults.failed(self.path, error) from error
        except StoreError:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA synchronous={'FULL' if self._durable else 'NORMAL'}")
        if self._durable:
            connection.execute("PRAGMA fullfsync=ON")  # on macOS a sync reaches the disk only so
        self._tables(self.path, connection)

    def _waited(self, act: Callable[[], T]) -> T:
        """What it gives, once no other process is in the way."""
        ends = time.monotonic() + self._seconds
        wait = _FIRST_WAIT
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                if store_faults.fault_of(error) != "locked" or time.monotonic() > ends:
                    raise
            time.sleep(wait * (0.5 + random.random()))  # noqa: S311 - a wait, not a secret
            wait = min(_LONGEST_WAIT, wait * 2)


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked at every use
    except OSError:
        return None
    return found.st_dev, found.st_ino
