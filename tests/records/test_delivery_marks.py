"""What was delivered is marked by run and destination, in a file that no run waits for."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import StoreError
from traced_loop.records.delivery_marks import FILE_NAME, OWED, DeliveryMarks, RunMarks

if TYPE_CHECKING:
    from pathlib import Path

IDS = st.integers(1, 2**64 - 1)


def test_what_was_never_marked_is_nothing_and_makes_no_file(tmp_path: Path) -> None:
    """Asking changes nothing."""
    marks = DeliveryMarks(tmp_path)
    assert (marks.of("r"), marks.sizes(), marks.names()) == (RunMarks(), {}, {})
    assert list(tmp_path.iterdir()) == []


@given(ids=st.lists(IDS, unique=True, min_size=1, max_size=20), refused=st.lists(IDS, unique=True, max_size=5))
def test_every_span_id_comes_back(tmp_path_factory: pytest.TempPathFactory, ids: list[int], refused: list[int]) -> None:
    """Also those that SQLite's signed integers cannot hold; in another object, as after a restart."""
    folder = tmp_path_factory.mktemp("marks")
    marks = DeliveryMarks(folder)
    marks.taken("d", {"r": ids[:1], "other": ids})
    marks.taken("d", {"r": ids[1:]})
    marks.refused("d", [("r", span_id, "too_large") for span_id in refused])
    marks.close()

    known = DeliveryMarks(folder).of("r")

    assert known.taken == {"d": frozenset(ids)}
    assert known.refused.get("d", {}) == dict.fromkeys(refused, "too_large")


def test_a_settled_run_needs_no_ids(tmp_path: Path) -> None:
    """Of this destination; what is owed is a mark of its own."""
    marks = DeliveryMarks(tmp_path)
    marks.taken("d", {"r": [1, 2]})
    marks.taken("e", {"r": [3]})
    marks.settle("r", [OWED, "d"], 500)
    assert marks.of("r") == RunMarks(settled={OWED: 500, "d": 500}, taken={"e": frozenset({3})})
    assert marks.sizes() == {"r": 500}

    marks.forget(["r"])
    assert marks.of("r") == RunMarks()


def test_the_file_is_private(tmp_path: Path) -> None:
    """Whatever the umask."""
    before = os.umask(0)
    try:
        DeliveryMarks(tmp_path).name("d", "http://collector")
    finally:
        os.umask(before)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert DeliveryMarks(tmp_path).names() == {"d": "http://collector"}


def test_a_damaged_file_is_said_and_left_alone(tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 100)
    for use in (lambda m: m.of("r"), lambda m: m.taken("d", {"r": [1]})):
        with pytest.raises(StoreError, match="move it away to begin a new one"):
            use(DeliveryMarks(tmp_path))
    assert (tmp_path / FILE_NAME).read_bytes().startswith(b"no database")


def test_the_marks_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    """They may mean something else."""
    with sqlite3.connect(tmp_path / FILE_NAME) as database:
        database.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(StoreError, match="newer traced_loop"):
        DeliveryMarks(tmp_path).of("r")


def test_a_forked_child_and_its_parent_both_go_on(tmp_path: Path) -> None:
    """The file does not cross the fork open."""
    marks = DeliveryMarks(tmp_path)
    marks.taken("d", {"r": [1]})
    pid = os.fork()
    if not pid:
        marks.taken("d", {"r": [2]})
        os._exit(0)
    marks.taken("d", {"r": [3]})
    assert os.waitpid(pid, 0)[1] == 0
    assert marks.of("r").taken == {"d": frozenset({1, 2, 3})}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_vanishes_is_begun_anew(tmp_path: Path, replaced: bool) -> None:
    """What it said is lost and sent once more, and what is marked from then on is in the file that others see."""
    marks = DeliveryMarks(tmp_path)
    marks.taken("d", {"r": [1]})
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"{FILE_NAME}{end}").unlink()
    if replaced:
        other = DeliveryMarks(tmp_path)
        other.taken("d", {"r": [2]})
        other.close()
    assert marks.of("r").taken == ({"d": {2}} if replaced else {})

    marks.taken("d", {"r": [3]})

    assert DeliveryMarks(tmp_path).of("r").taken == {"d": {2, 3} if replaced else {3}}


def test_what_is_wrong_is_said_in_a_closed_word(tmp_path: Path) -> None:
    """Which may be shown where the message, with its path, may not; once moved away, the file is forgotten."""
    path = tmp_path / FILE_NAME
    marks = DeliveryMarks(tmp_path)
    marks.taken("d", {"r": [1]})
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="database is locked") as locked:
            marks.taken("d", {"r": [2]})
        other.execute("ROLLBACK")
    other.close()
    marks.close()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match="is not a database") as damaged:
        marks.taken("d", {"r": [2]})
    path.unlink()
    with pytest.raises(StoreError) as gone:
        DeliveryMarks(tmp_path / "nowhere").taken("d", {"r": [2]})
    assert [each.value.why for each in (locked, damaged, gone)] == ["locked", "damaged", "gone"]

    marks.taken("d", {"r": [3]})

    assert marks.of("r").taken == {"d": {3}}


def test_processes_that_begin_together_lose_no_mark(tmp_path: Path) -> None:
    """One of them makes the file, and each waits for its turn."""
    marks = DeliveryMarks(tmp_path)
    gate, go = os.pipe()
    pids: list[int] = []
    for number in range(1, 7):
        pid = os.fork()
        if not pid:
            os.close(go)
            os.read(gate, 1)
            try:
                marks.taken("d", {"r": [number]})
            except BaseException:  # noqa: BLE001 - a child must not go on as pytest
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    os.close(gate)
    os.close(go)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 6
    assert marks.of("r").taken == {"d": frozenset(range(1, 7))}
