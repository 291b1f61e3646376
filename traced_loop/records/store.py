"""The local store: one folder with a SQLite file (runs, transcripts) and a folder of span files.

Folder 0700, files 0600, whatever the umask. SQLite runs in WAL mode with ``synchronous=NORMAL``: what is committed
survives ``kill -9``; a power cut may lose the last moments.
"""

import errno
import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from platformdirs import user_data_path

from traced_loop.errors import StoreError
from traced_loop.records.forks import at_forks
from traced_loop.records.key_file import read_key
from traced_loop.telemetry.fingerprint import KEY_BYTES

HOME_VARIABLE: Final = "TRACED_LOOP_HOME"
"""Environment variable that puts the store elsewhere."""

SCHEMA_VERSION: Final = 1
BUSY_SECONDS: Final = 1.0
"""How long a write waits for another process's write, which takes milliseconds; a longer one costs a record, not the
run's time."""

_SCHEMA: Final = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    trace_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    session_id TEXT,
    started_ns INTEGER NOT NULL,
    ended_ns INTEGER,
    stop_reason TEXT,
    stop_detail TEXT,
    steps INTEGER,
    tool_calls INTEGER,
    tokens INTEGER,
    cost_microusd INTEGER,
    flagged INTEGER NOT NULL DEFAULT 0,
    process TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_start ON runs (started_ns);
CREATE TABLE messages (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;
"""


class Store:
    """An open store. One object may be used from any thread, and in forked children."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self.folder = folder
        self.spans_folder = folder / "spans"
        self._database: sqlite3.Connection | None = database
        self._lock = threading.Lock()
        at_forks(self)

    def __del__(self) -> None:
        self._disconnect()

    @classmethod
    def open(cls, folder: Path | str | None = None) -> "Store":
        """Open the store, and make it first where there is none.

        Args:
            folder: None for ``TRACED_LOOP_HOME``, else the user's data directory.

        Raises:
            StoreError: the folder cannot be made or written, the file is damaged, or a newer version wrote it.
        """
        path = store_folder(folder)
        return cls(path, _made(path))

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
                _write_new(path, secrets.token_bytes(KEY_BYTES))
            except OSError as error:
                raise StoreError(_unwritable(path, error)) from error
            key = read_key(path)  # ours, or that of a process that came first
        if key is None:
            raise StoreError(f"{path} vanishes when it is made: use another store with --store DIR")
        return key

    def write(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for all rows in one transaction.

        Raises:
            StoreError: the store cannot be written.
        """
        with self._guarded() as database, database:
            database.executemany(statement, rows)

    def read(self, query: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._guarded() as database:
            return database.execute(query, parameters).fetchall()

    def make_again(self) -> None:
        """Make the store anew if its file has vanished, with its folder perhaps.

        Raises:
            StoreError: as ``open``.
        """
        if not (self.folder / "store.db").exists():
            with self._lock:
                self._disconnect()
                self._database = _made(self.folder)

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

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextmanager
    def _guarded(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            if self._database is None:
                self._database = _connect(self.folder / "store.db")
            try:
                yield self._database
            except sqlite3.Error as error:
                raise StoreError(_damage(self.folder / "store.db", error)) from error


def _made(folder: Path) -> sqlite3.Connection:
    _make_private_folder(folder)
    _make_private_folder(folder / "spans", ours=True)
    return _connect(folder / "store.db")


def store_folder(folder: Path | str | None = None) -> Path:
    """Where the store is: the argument, else ``TRACED_LOOP_HOME``, else the user's data directory.

    Raises:
        StoreError: a home folder that does not exist.
    """
    chosen = folder or os.environ.get(HOME_VARIABLE)
    try:
        return Path(chosen).expanduser().absolute() if chosen else user_data_path("traced_loop", appauthor=False)
    except RuntimeError as error:  # ~ of a user that there is not
        raise StoreError(f"the store {str(chosen)!r} names no folder: {error}") from error


def append_private(path: Path | str, data: bytes) -> None:
    """Append to a file of mode 0600 in one write, so that lines of several processes never mix.

    Raises:
        OSError: as the system says; a short write is one too, and is taken back.
    """
    descriptor = os.open(
        path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
    )
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            # Half a line would spoil the next one too.
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, "short write, is the disk full?", str(path))
    finally:
        os.close(descriptor)


def _connect(path: Path) -> sqlite3.Connection:
    try:
        if not path.exists():
            _write_new(path, b"")
        database = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(_unwritable(path, error)) from error
    try:
        _prepare(path, database)
    except sqlite3.Error as error:
        database.close()
        raise StoreError(_damage(path, error)) from error
    except StoreError:
        database.close()
        raise
    return database


def format_of(path: Path, database: sqlite3.Connection) -> int:
    """The version of the tables; 0 where there are none yet.

    Raises:
        StoreError: a newer version wrote them.
        sqlite3.Error: it cannot be read.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the store {path} was written by a newer traced_loop (format {version}, this one knows {SCHEMA_VERSION}):"
            " upgrade traced-loop, or use another store with --store"
        )
    return int(version)


def _prepare(path: Path, database: sqlite3.Connection) -> None:
    database.execute("PRAGMA synchronous=NORMAL")
    version = format_of(path, database)
    if version == SCHEMA_VERSION:
        database.execute("SELECT run_id FROM runs LIMIT 1").fetchone()
        return
    _switch_to_wal(database)
    database.execute("BEGIN IMMEDIATE")  # two processes may find the same empty file
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version < SCHEMA_VERSION:
        for statement in _SCHEMA.split(";"):
            if statement.strip():
                database.execute(statement)
        database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    database.commit()


def _switch_to_wal(database: sqlite3.Connection) -> None:
    """Change the journal mode, which SQLite does not wait for while another process does the same."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _make_private_folder(path: Path, *, ours: bool = False) -> None:
    try:
        _make_folder(path)
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise StoreError(f"the store folder {path} is a symbolic link: name the folder itself with --store")
        if found.st_uid != os.getuid():
            raise StoreError(f"the store folder {path} belongs to another user: use another one with --store")
        if found.st_mode & 0o077:
            _close_to_others(path, ours=ours or (path / "store.db").exists())
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(path))
    except OSError as error:
        raise StoreError(_unwritable(path, error)) from error


def _make_folder(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(0o700)  # whatever the umask took


def _close_to_others(path: Path, *, ours: bool) -> None:
    """Make a folder private, unless it was plainly not made for a store: a home or project folder stays as it is."""
    if not ours and any(path.iterdir()):
        raise StoreError(
            f"the store folder {path} holds other things and is open to others: name a folder of its own with --store"
        )
    path.chmod(0o700)


def _write_new(path: Path, data: bytes) -> None:
    """Write a new file of mode 0600 whole or not at all; a file that appeared meanwhile is left as it is."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    append_private(temporary, data)
    try:
        temporary.chmod(0o600)  # whatever the umask took
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()


def _unwritable(path: Path, error: Exception) -> str:
    return (
        f"cannot write the store {path}: {_why(error)}. Use another one with --store DIR or {HOME_VARIABLE}=DIR,"
        " or none with store=None"
    )


def _damage(path: Path, error: sqlite3.Error) -> str:
    return _unwritable(path, error) if isinstance(error, sqlite3.OperationalError) else damage_text(path, error)


def damage_text(path: Path, error: sqlite3.Error) -> str:
    """What is said about a file that is no database, or one with holes."""
    return (
        f"the store {path} is damaged ({error}). Nothing was changed: move it away to begin a new one, or use another"
        " with --store DIR. The span files in its folder spans/ are whole and can still be read"
    )


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
