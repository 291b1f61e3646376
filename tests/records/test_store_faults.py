"""A store that fails, with real faults: the run ends with a clear reason, or goes on and says what is lost."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Loop, Policy, RunResult, ScriptedModel, StopReason, StoreError, allow_when, tool
from traced_loop.records.database import Database
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.open_writes import open_writes
from traced_loop.records.store import Store
from traced_loop.records.store_faults import fault_of
from traced_loop.setup import wire
from traced_loop.testing import calls

from ..python_program import run_python

WRITES = Policy(rules=[allow_when(effect="write")])
DONE: list[str] = []


@tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


@tool(effect="write", key=lambda name: f"put:{name}")
def put(name: str) -> str:
    """Put."""
    DONE.append(name)
    return "put"


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


def run(script: list[Any], *tools: Any, **options: Any) -> RunResult:
    """A run that may write."""
    return Loop(ScriptedModel(script), [look, put, *tools], policy=WRITES, **options).run("Go.")


PUT = calls(("put", {"name": "A"}))
LOOK = calls(("look", {}))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write there; root by a mount, since it may write everywhere else."""
    if os.getuid():
        paths = [folder, *folder.rglob("*")]
        for path in paths:
            path.chmod(0o500 if path.is_dir() else 0o400)
        yield
        for path in paths:
            path.chmod(0o700 if path.is_dir() else 0o600)
        return
    for command in (["mount", "--bind", folder, folder], ["mount", "-o", "remount,bind,ro", folder]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount a folder read-only: {done.stderr.strip()}; run as a user that is not root")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_on_a_read_only_store_no_run_begins(home: Path) -> None:
    """Before anything is sent, with what to do instead."""
    Store.open(home).close()
    with read_only(home), pytest.raises(StoreError, match=r"cannot write the store.*--store DIR"):
        run([PUT, "end"])
    assert DONE == []


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Another process writes, and does not come to an end."""
    other = sqlite3.connect(home / "store.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_a_locked_store_ends_a_run_with_writes(home: Path) -> None:
    """Whether the write may run cannot be known; it does not run, and may later."""
    Store.open(home)
    wiring = replace(wire(home), ledger=DurableLedger(Store.open(home), busy_seconds=0.05))
    with locked(home):
        refused = run([PUT], wiring=wiring)
    assert (refused.stop_reason, DONE) == (StopReason.HARNESS_ERROR, [])
    assert "the store is locked by another process" in refused.stop_detail
    assert refused.receipt.store_errors > 0
    assert (run([PUT, "end"], wiring=wiring).answer, DONE) == ("end", ["A"])


def test_a_locked_store_costs_a_run_without_writes_its_records_only(home: Path) -> None:
    """It says how many."""
    wiring = wire(home)
    with locked(home):
        result = run([LOOK, "end"], wiring=wiring)
    assert result.answer == "end"
    assert result.receipt.store_errors > 0


def test_a_store_that_is_locked_when_a_write_has_run_leaves_it_unknown(home: Path) -> None:
    """What is not recorded is not told, and is not run again."""
    ledger = DurableLedger(Store.open(home), busy_seconds=0.05)
    wiring = replace(wire(home), ledger=ledger)
    holding: list[Any] = []

    @tool(effect="write", key=lambda: "k")
    def lock() -> str:
        """Lock the store."""
        DONE.append("lock")
        holding.append(locked(home))
        holding[0].__enter__()
        return "locked"

    ended = run([calls(("lock", {}))], lock, wiring=wiring)
    holding[0].__exit__(None, None, None)
    assert ended.stop_reason is StopReason.OUTCOME_UNKNOWN
    assert "the store is locked by another process" in ended.stop_detail
    again = run([calls(("lock", {}))], lock, wiring=wiring)
    assert (again.stop_reason, DONE) == (StopReason.OUTCOME_UNKNOWN, ["lock"])


def test_a_store_that_is_deleted_in_a_run_ends_its_writes(home: Path) -> None:
    """What it had done is not known any more, so nothing is done again; a new run finds a new store."""

    @tool(effect="read")
    def tidy() -> str:
        """Delete the store."""
        shutil.rmtree(home)
        return "gone"

    result = run([PUT, calls(("tidy", {})), PUT], tidy)
    assert (result.stop_reason, DONE) == (StopReason.HARNESS_ERROR, ["A"])
    assert "the store is gone: its file was removed or replaced" in result.stop_detail
    assert result.receipt.store_errors > 0
    assert run([calls(("put", {"name": "B"})), "end"], tidy).answer == "end"


FULL = """
import resource, signal
from traced_loop import Loop, Policy, ScriptedModel, allow_when, tool
from traced_loop.testing import calls

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

def fill():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))

@tool(effect="read")
def before() -> str:
    "Fill the disk."
    fill()
    return "full"

@tool(effect="write", key=lambda: "k")
def during() -> str:
    "Fill the disk."
    print("done", flush=True)
    fill()
    return "full"

policy = Policy(rules=[allow_when(effect="write")])
script = [calls(*[(name, {}) for name in ORDER]), "end"]
result = Loop(ScriptedModel(script), [before, during], policy=policy).run("Go.")
print(result.stop_reason, result.receipt.store_errors > 0, result.stop_detail)
"""
"""No file may grow any more, which is what a full disk is to whoever writes."""


def on_a_full_disk(tmp_path: Path, *order: str) -> list[str]:
    """What a run says in which these tools are called."""
    ended = run_python(FULL.replace("ORDER", repr(order)), tmp_path / "store")
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def test_a_disk_that_is_full_before_a_write_keeps_it_from_running(tmp_path: Path) -> None:
    """And says that it is the disk."""
    (said,) = on_a_full_disk(tmp_path, "before", "during")
    assert said.startswith("harness_error True the ledger of writes failed (the store is ")
    assert open_writes(str(tmp_path / "store")) == []


def test_a_disk_that_is_full_after_a_write_leaves_it_unknown(tmp_path: Path) -> None:
    """Also to the next process; it stands as running, and its process is gone."""
    done, said = on_a_full_disk(tmp_path, "during")
    assert (done, said.startswith("outcome_unknown True the ledger of writes failed (the store is ")) == ("done", True)
    (row,) = open_writes(str(tmp_path / "store"))
    assert (row.name[2], row.state) == ("k", "unknown")


def test_a_disk_that_is_full_costs_a_run_without_writes_its_records_only(tmp_path: Path) -> None:
    """The answer is the same."""
    (said,) = on_a_full_disk(tmp_path, "before")
    assert said == "final_answer True "


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file"), "gone"),
        (PermissionError(), "unusable"),
        (OSError(errno.ENOSPC, "No space left on device"), "full"),
        (OSError(errno.EROFS, "Read-only file system"), "read_only"),
        (sqlite3.OperationalError("no code"), "unusable"),
    ],
    ids=repr,
)
def test_every_fault_has_a_word(error: Exception, word: str) -> None:
    """Which may be shown where a message may not."""
    assert fault_of(error) == word


def test_a_wait_for_another_process_ends(tmp_path: Path) -> None:
    """In its time, with the word for it."""
    store = Store.open(tmp_path / "s")
    impatient = Database(store.file, seconds=0.01)
    with locked(store.folder), pytest.raises(StoreError) as raised, impatient.transaction():
        pass
    assert raised.value.why == "locked"
