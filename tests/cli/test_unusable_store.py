"""A store that cannot be used: one line that says what to do, before anything is sent; what is there is left alone."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from traced_loop.records.store import Store

from ..command_line import Ended, program, traced_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("home")

RUN = ("run", "Go.", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
BEGINNINGS = pytest.mark.parametrize("command", [RUN, ("demo",), ("sandbox",)], ids=["run", "demo", "sandbox"])


def a_file(folder: Path) -> Path:
    """A file where the folder should be."""
    folder.write_text("mine")
    return folder


def below_a_file(folder: Path) -> Path:
    """A folder that cannot be made, by root neither."""
    folder.write_text("mine")
    return folder / "below"


def in_proc(_folder: Path) -> Path:
    """A file system on which nobody makes a folder."""
    return Path("/proc/traced_loop")


def garbage(folder: Path) -> Path:
    """A database file of something else."""
    folder.mkdir()
    (folder / "store.db").write_bytes(b"this is no database at all, and long enough to be read as a header" * 20)
    return folder


def truncated(folder: Path) -> Path:
    """Half a database."""
    Store.open(folder).close()
    database = folder / "store.db"
    os.truncate(database, database.stat().st_size // 2)
    return folder


def newer(folder: Path) -> Path:
    """A database of a version to come."""
    Store.open(folder).close()
    database = sqlite3.connect(folder / "store.db")
    database.execute("PRAGMA user_version=99")
    database.close()
    return folder


def said_in_one_line(ended: Ended) -> str:
    """The line about the store; exit code 2, no run, no traceback."""
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err
    [line] = [line for line in ended.err_lines if line.startswith("traced-loop: ")]
    assert "finish_reason" not in ended.err
    return line


@BEGINNINGS
@pytest.mark.parametrize("make", [a_file, below_a_file, in_proc], ids=lambda make: make.__name__)
def test_a_place_where_no_store_can_be_is_refused(
    tmp_path: Path, make: Callable[[Path], Path], command: tuple[str, ...]
) -> None:
    """The path and the ways out are named, and a file that stood there is as it was."""
    place = make(tmp_path / "place")
    line = said_in_one_line(traced_loop(*command, "--store", str(place)))
    assert line.startswith(f"traced-loop: cannot write the store {place}: ")
    assert "--store DIR" in line
    if (tmp_path / "place").exists():
        assert (tmp_path / "place").read_text() == "mine"


@BEGINNINGS
def test_a_store_of_a_newer_version_is_not_touched(tmp_path: Path, command: tuple[str, ...]) -> None:
    """What is wrong and what to do is said; the file stays byte for byte."""
    database = newer(tmp_path / "place") / "store.db"
    before = database.read_bytes()
    line = said_in_one_line(traced_loop(*command, "--store", str(database.parent)))
    assert "newer traced_loop (format 99" in line
    assert database.read_bytes() == before


@BEGINNINGS
@pytest.mark.parametrize("make", [garbage, truncated])
def test_a_damaged_store_is_kept_aside_byte_for_byte_and_the_run_goes_on(
    tmp_path: Path, make: Callable[[Path], Path], command: tuple[str, ...]
) -> None:
    """In a new one, and it says so."""
    database = make(tmp_path / "place") / "store.db"
    before = database.read_bytes()
    ended = traced_loop(*command, "--store", str(database.parent))
    assert "Traceback" not in ended.err
    assert "its old file is kept as store.db.damaged-" in ended.err
    [kept] = [path for path in database.parent.glob("store.db.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert kept.read_bytes() == before
    assert Store.open(database.parent).read("SELECT count(*) FROM runs") != [(0,)]


def test_a_store_that_root_alone_may_write_is_refused_to_others(tmp_path: Path) -> None:
    """A folder of mode 0500 is no place for a store; root may write everywhere, so there is nothing to see."""
    if os.getuid() == 0:
        pytest.skip("root ignores modes")
    tmp_path.chmod(0o500)
    assert "Permission denied" in said_in_one_line(traced_loop("sandbox", "--store", str(tmp_path / "store")))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(disk: Path, leave: int) -> None:
    """Leave so many bytes free."""
    free = os.statvfs(disk)
    (disk / "fill").write_bytes(b"x" * (free.f_bavail * free.f_frsize - leave))


def test_a_disk_that_fills_up_during_a_run_loses_records_and_says_so(small_disk: Path) -> None:
    """The run goes on to its end; one line says how many records could not be written."""
    store = Store.open(small_disk / "store")
    store.key()
    store.close()
    fill(small_disk, leave=40_000)
    ended = program("sandbox", "--store", str(small_disk / "store"))
    assert "Traceback" not in ended.err
    assert ended.out.splitlines()[-1] == "mode=normal status=final_answer"
    [line] = [line for line in ended.err_lines if "could not be written to" in line]
    assert re.match(r"[1-9]\d* records could not be written to .*/store$", line)


def test_a_disk_that_is_full_before_the_run_is_one_line(small_disk: Path) -> None:
    """No store can be made there, so nothing is begun."""
    fill(small_disk, leave=0)
    line = said_in_one_line(program("sandbox", "--store", str(small_disk / "store")))
    assert line.startswith("traced-loop: cannot write the store ")
