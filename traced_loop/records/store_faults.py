"""What is wrong with a store, in a closed word and in a sentence that says what to do."""

import errno
import sqlite3
from pathlib import Path
from typing import Final

from traced_loop.closed_words import StoreFault
from traced_loop.errors import StoreError

HOME_VARIABLE: Final = "TRACED_LOOP_HOME"
"""Environment variable that puts the store elsewhere."""

_FAULTS: Final[dict[int, StoreFault]] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_SYSTEM_FAULTS: Final[dict[int, StoreFault]] = {
    errno.ENOENT: "gone",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.EROFS: "read_only",
    errno.ETIMEDOUT: "locked",
}


def fault_of(error: BaseException) -> StoreFault:
    """The word for what SQLite or the system says."""
    if isinstance(error, sqlite3.Error):
        # Some errors of the module itself have no code.
        return _FAULTS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "unusable")
    return _SYSTEM_FAULTS.get(error.errno or 0, "unusable") if isinstance(error, OSError) else "unusable"


def unwritable(path: Path, error: Exception) -> StoreError:
    """It cannot be opened, read or written."""
    said = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    text = f"cannot write the store {path}: {said}. Use another one with --store DIR or {HOME_VARIABLE}=DIR"
    return StoreError(f"{text}, or none with store=None", why=fault_of(error), typed=text)


def vanished(path: Path) -> StoreError:
    """Its file was taken away, or another one stands in its place, while it was in use."""
    text = (
        f"the store {path} was removed or replaced while it was in use: No such file any more."
        " What is recorded from now on goes into a new one at the next run"
    )
    return StoreError(text, why="gone")


def failed(path: Path, error: sqlite3.Error) -> StoreError:
    """What SQLite refuses."""
    if fault_of(error) == "damaged":
        return StoreError(damage_text(path, error), why="damaged")
    return unwritable(path, error)


def damage_text(path: Path, error: sqlite3.Error) -> str:
    """What is said about a file that is no database, or one with holes."""
    return (
        f"the store {path} is damaged ({error}). Nothing was changed: the next run moves it aside and begins a new one,"
        " or use another with --store DIR. The span files in its folder spans/ are whole and can still be read"
    )
