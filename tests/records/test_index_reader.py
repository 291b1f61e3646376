"""The index is read without a trace: in a quiet folder, beside a writer, after a killed one, where nobody may write."""

from __future__ import annotations

import sqlite3
import subprocess
from typing import TYPE_CHECKING

import pytest

from traced_loop.errors import StoreError
from traced_loop.read.local_store import LocalStore
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import Store

from ..python_program import run_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INSERT = "INSERT INTO messages VALUES (?, ?, ?)"
SEQUENCES = "SELECT seq FROM messages ORDER BY seq"


def written(folder: Path, *sequences: int) -> Store:
    """A store, still open, with messages of those numbers."""
    store = Store.open(folder)
    store.write(INSERT, [("run-1", number, "{}") for number in sequences])
    return store


def facts(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file and folder with its mode, the time of its change and its bytes."""
    found = [folder, *folder.rglob("*")]
    stats = {str(path): path.stat() for path in found}
    return {
        str(p): (stats[str(p)].st_mode, stats[str(p)].st_mtime_ns, p.read_bytes() if p.is_file() else b"")
        for p in found
    }


def test_reading_a_quiet_store_changes_nothing(tmp_path: Path) -> None:
    """No file appears, no folder is made private, none is made."""
    written(tmp_path, 1, 2).close()
    (tmp_path / "spans").rmdir()
    tmp_path.chmod(0o755)
    before = facts(tmp_path)

    with LocalStore.open(tmp_path) as store:
        assert store.runs() == []
        assert len(store.messages("run-1").messages) == 2

    assert facts(tmp_path) == before


def test_what_another_process_is_writing_is_read(tmp_path: Path) -> None:
    """Also what is only in the log yet, and what comes between two queries."""
    reader = IndexReader(tmp_path / "store.db")
    store = written(tmp_path, 1)
    first = reader.read(SEQUENCES)
    store.write(INSERT, [("run-1", 2, "{}")])
    second = reader.read(SEQUENCES)
    store.close()

    assert (first, second, reader.read(SEQUENCES)) == ([(1,)], [(1,), (2,)], [(1,), (2,)])


def test_a_reader_stands_in_no_writers_way(tmp_path: Path) -> None:
    """The last one to close the store still tidies the log away."""
    store = written(tmp_path, 1)
    IndexReader(tmp_path / "store.db").read(SEQUENCES)
    store.close()

    assert not (tmp_path / "store.db-wal").exists()


KILLED = f"""
import os
from traced_loop.records.store import Store
store = Store.open()
store.write({INSERT!r}, [("run-1", 3, "{{}}")])
os._exit(0)
"""


def test_the_log_of_a_killed_process_is_read(tmp_path: Path) -> None:
    """It holds what was committed."""
    folder = tmp_path / "s"
    written(folder, 1).close()
    run_python(KILLED, folder)

    assert (folder / "store.db-wal").stat().st_size > 0
    assert IndexReader(folder / "store.db").read(SEQUENCES) == [(1,), (3,)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that can be made read-only, for root too."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a disk: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def read_only(disk: Path) -> None:
    """From now on nothing can be written there."""
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


@pytest.mark.parametrize("killed", [False, True], ids=["quiet", "killed"])
def test_a_store_on_a_read_only_disk_is_read(disk: Path, killed: bool) -> None:
    """The index, and with a log beside it the log too."""
    written(disk / "s", 1).close()
    if killed:
        run_python(KILLED, disk / "s")
    read_only(disk)

    with LocalStore.open(disk / "s") as store:
        assert (store.runs(), store.problems) == ([], ())
    assert IndexReader(disk / "s" / "store.db").read(SEQUENCES) == [(1,), (3,)][: 2 if killed else 1]


def test_a_log_that_cannot_be_read_leaves_the_index(disk: Path) -> None:
    """The file by which processes share the log is gone and cannot be made."""
    written(disk / "s", 1).close()
    run_python(KILLED, disk / "s")
    (disk / "s" / "store.db-shm").unlink()
    read_only(disk)

    assert IndexReader(disk / "s" / "store.db").read(SEQUENCES) == [(1,)]


def test_a_file_without_tables_has_no_rows(tmp_path: Path) -> None:
    """Another process is about to make them."""
    (tmp_path / "store.db").touch()

    assert IndexReader(tmp_path / "store.db").read(SEQUENCES) == []


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """A missing file, one of a newer version, one that is no database."""
    path = tmp_path / "store.db"
    with pytest.raises(StoreError, match="cannot be read"):
        IndexReader(path).read(SEQUENCES)
    written(tmp_path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(StoreError, match="newer traced_loop"):
        IndexReader(path).read(SEQUENCES)
    path.write_bytes(b"this is no database " * 100)
    for left in ("store.db-wal", "store.db-shm"):
        (tmp_path / left).unlink(missing_ok=True)
    with pytest.raises(StoreError, match="is damaged") as raised:
        IndexReader(path).read(SEQUENCES)
    assert raised.value.why == "damaged"
    assert {found.name for found in tmp_path.iterdir()} == {"spans", "store.db"}
