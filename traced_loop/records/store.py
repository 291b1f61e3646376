"""The local store: one folder with a SQLite file (runs, transcripts, the ledger of writes) and a folder of span files.

Folder 0700, files 0600, whatever the umask. SQLite runs in WAL mode; what is committed survives ``kill -9``. A power
cut may lose the last moments of runs and transcripts; what the ledger commits it does not lose.

A file that is damaged is moved aside when the store is opened for writing, and a new one is begun, which says so.
"""

import os
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop.errors import StoreError
from traced_loop.records.database import Database
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.key_file import read_key
from traced_loop.records.private_files import alone_in, make_private_folder, write_new
from traced_loop.records.private_files import append_private as append_private
from traced_loop.records.store_faults import HOME_VARIABLE as HOME_VARIABLE
from traced_loop.records.store_faults import unwritable
from traced_loop.records.store_schema import LEDGER_VERSION
from traced_loop.records.store_schema import SCHEMA_VERSION as SCHEMA_VERSION
from traced_loop.telemetry.fingerprint import KEY_BYTES

FILE: Final = "store.db"
"""Name of the SQLite file in the store's folder."""

ASIDE: Final = "aside"
"""Fact of a new store: the name of the damaged file that was moved out of its place."""


class Store:
    """An open store. One object may be used from any thread, and in forked children."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self.spans_folder = folder / "spans"
        self._database = database

    @classmethod
    def open(cls, folder: Path | str | None = None) -> "Store":
        """Open the store, and make it first where there is none.

        Args:
            folder: None for ``TRACED_LOOP_HOME``, else the user's data directory.

        Raises:
            StoreError: the folder cannot be made or written, or a newer version wrote the file.
        """
        path = store_folder(folder)
        store = cls(path, Database(path / FILE))
        store._make()
        return store

    @property
    def file(self) -> Path:
        """The SQLite file."""
        return self.folder / FILE

    def key(self) -> bytes:
        """The key of this store's fingerprints: 32 random bytes in a file of mode 0600, made when first asked.

        Processes that ask for the first time together get the same one.

        Raises:
            StoreError: the file cannot be read or written, or holds something else.
        """
        path = self.folder / "fingerprint.key"
        key = read_key(path)
        if key is None:
            try:
                write_new(path, secrets.token_bytes(KEY_BYTES))
            except OSError as error:
                raise unwritable(path, error) from error
            key = read_key(path)  # ours, or that of a process that came first
        if key is None:
            raise StoreError(f"{path} vanishes when it is made: use another store with --store DIR")
        return key

    def write(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for all rows in one transaction.

        Raises:
            StoreError: the store cannot be written.
        """
        self.write_together([(statement, rows)])

    def write_together(self, statements: Iterable[tuple[str, Iterable[tuple[Any, ...]]]]) -> None:
        """Run statements, each for its rows, in one transaction.

        Raises:
            StoreError: the store cannot be written; then none of them is done.
        """
        with self._database.transaction() as database:
            for statement, rows in statements:
                database.executemany(statement, rows)

    def change(self, statement: str, parameters: tuple[Any, ...]) -> int:
        """Run one statement; how many rows it changed.

        Raises:
            StoreError: the store cannot be written.
        """
        with self._database.transaction() as database:
            return database.execute(statement, parameters).rowcount

    def read(self, query: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._database.using() as database:
            return database.execute(query, parameters).fetchall()

    def make_again(self) -> None:
        """Make the store anew if its file has vanished, with its folder perhaps, or has turned out to be damaged.

        Raises:
            StoreError: as ``open``.
        """
        if not self.file.exists() or not self._database.in_place() or self._database.suspected():
            self._make()

    def accept_loss(self) -> None:
        """What a damaged file knew, which this one stands for, is not asked about any more.

        Raises:
            StoreError: the store cannot be written.
        """
        self.write("UPDATE store_facts SET name = 'accepted ' || value WHERE name = ?", [(ASIDE,)])

    def close(self) -> None:
        """Close the file; a later use opens it again. Closing twice is fine."""
        self._database.close()

    def _make(self) -> None:
        try:
            make_private_folder(self.folder)
            make_private_folder(self.spans_folder, ours=True)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        try:
            self._database.open(make=True)
        except StoreError as error:
            if error.why != "damaged":
                raise
            _move_aside(self.file)
            self._database.open(make=True)


def store_folder(folder: Path | str | None = None) -> Path:
    """Where the store is: the argument, else ``TRACED_LOOP_HOME``, else the user's data directory.

    Raises:
        StoreError: a home folder that does not exist.
    """
    chosen = folder or os.environ.get(HOME_VARIABLE)
    try:
        return Path(chosen).expanduser().absolute() if chosen else _usual_folder()
    except RuntimeError as error:  # ~ of a user that there is not
        raise StoreError(f"the store {str(chosen)!r} names no folder: {error}") from error


def _usual_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("traced_loop", appauthor=False)


def kept_aside(folder: Path | str | None = None) -> str | None:
    """The name of the damaged file that a store stands for, until somebody accepts that; None where there is none.

    Raises:
        StoreError: the store cannot be read.
    """
    path = store_folder(folder) / FILE
    if not path.exists():
        return None
    rows = IndexReader(path).read("SELECT value FROM store_facts WHERE name = ?", (ASIDE,), since=LEDGER_VERSION)
    return rows[0][0] if rows else None


def _move_aside(path: Path) -> None:
    """Put a damaged file, with its log, under a name that has the date, and begin a new one that says so.

    Raises:
        StoreError: neither can be done.
    """
    try:
        with alone_in(path.parent):
            _move_aside_alone(path)
    except OSError as error:
        raise unwritable(path, error) from error


def _move_aside_alone(path: Path) -> None:
    try:
        Database(path).open(alone=True)
    except StoreError as error:
        if error.why != "damaged":
            raise
    else:
        return  # another process has moved it meanwhile
    kept = _free_name(path)
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}{end}").rename(kept.with_name(f"{kept.name}{end}"))
    begun = Database(path)
    begun.cleared()
    begun.open(make=True, alone=True)
    with begun.transaction() as database:
        database.execute("INSERT OR REPLACE INTO store_facts (name, value) VALUES (?, ?)", (ASIDE, kept.name))
    begun.close()


def _free_name(path: Path) -> Path:
    named = f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    taken = {each.name for each in path.parent.iterdir()}
    return path.with_name(next(name for n in range(1000) if (name := f"{named}{f'-{n}' if n else ''}") not in taken))
