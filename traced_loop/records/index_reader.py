"""The store's SQLite file, for reading only: no file is made, changed or moved, also where nothing may be written.

A file in WAL mode is more than one file. While there is no log (``store.db-wal``), SQLite is told that nobody writes
(``immutable``): otherwise it makes the log's files, or refuses where it cannot. With a log it reads both, and follows
the locks of whoever is writing. Each query opens the file anew, so a reader stands in nobody's way between two of them.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from traced_loop.errors import StoreError
from traced_loop.records.database import BUSY_SECONDS
from traced_loop.records.store_faults import damage_text, fault_of
from traced_loop.records.store_schema import check_tables, format_of

_STILL: Final = "mode=ro&immutable=1"
_WITH_LOG: Final = "mode=ro"
_NO_LOG_FILES: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})

Rows = list[tuple[Any, ...]]


class IndexReader:
    """Reads one file; holds nothing open. Whether it has the tables that it should have is looked at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checked = 0
        self._log = path.with_name(f"{path.name}-wal")

    def read(self, query: str, parameters: tuple[Any, ...] = (), *, since: int = 1) -> Rows:
        """All rows of a query; none from a file in which its tables have not been made yet.

        Args:
            query: one statement.
            parameters: its values.
            since: the version of the file that has the tables.

        Raises:
            StoreError: the file cannot be read, has other tables than it should have, or a newer version wrote it.
        """
        if self._path.exists() and not self._path.is_file():  # a pipe would be waited for
            raise StoreError(f"the store {self._path} cannot be read: it is no file", why="damaged")
        try:
            return self._rows(query, parameters, since)
        except sqlite3.OperationalError as error:
            raise StoreError(f"the store {self._path} cannot be read: {error}", why=fault_of(error)) from error
        except sqlite3.Error as error:
            raise StoreError(damage_text(self._path, error), why="damaged") from error

    def _rows(self, query: str, parameters: tuple[Any, ...], since: int) -> Rows:
        if not self._has_log():
            try:
                return self._asked(_STILL, query, parameters, since)
            except sqlite3.Error:
                if not self._has_log():  # else somebody has begun to write meanwhile
                    raise
        try:
            return self._asked(_WITH_LOG, query, parameters, since)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _NO_LOG_FILES:
                raise
            # A log that a killed process left, in a folder in which its other file cannot be made: what was written
            # last is not in the index then; the span files have it.
            return self._asked(_STILL, query, parameters, since)

    def _has_log(self) -> bool:
        try:
            return self._log.stat().st_size > 0
        except OSError:
            return False

    def _asked(self, how: str, query: str, parameters: tuple[Any, ...], since: int) -> Rows:
        address = f"{self._path.as_uri()}?{how}"
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as database:
            version = format_of(self._path, database)
            if version != self._checked:
                check_tables(self._path, database, version)
                self._checked = version
            if version < since:
                return []
            return database.execute(query, parameters).fetchall()
