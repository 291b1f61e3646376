"""An older store is brought up to date, by whoever opens it first, whole or not at all; a newer one is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from traced_loop.errors import StoreError
from traced_loop.read.local_store import LocalStore
from traced_loop.read.trace import ProblemKind
from traced_loop.records import store_schema
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import Store
from traced_loop.records.store_schema import SCHEMA_VERSION, bring_up_to_date

from ..python_program import run_python

VERSION_1 = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL,
    session_id TEXT, started_ns INTEGER NOT NULL, ended_ns INTEGER, stop_reason TEXT, stop_detail TEXT, steps INTEGER,
    tool_calls INTEGER, tokens INTEGER, cost_microusd INTEGER, flagged INTEGER NOT NULL DEFAULT 0,
    process TEXT NOT NULL) STRICT;
CREATE INDEX runs_by_start ON runs (started_ns);
CREATE TABLE messages (run_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, seq))
    STRICT, WITHOUT ROWID;
INSERT INTO messages VALUES ('old', 0, '{"role": "user", "content": "hello"}');
INSERT INTO runs (run_id, trace_id, agent, model, started_ns, process) VALUES ('old', '1', 'a', 'm', 1, '1:1');
PRAGMA user_version = 1;
"""
"""The file as the first version made it."""


def older(folder: Path) -> Path:
    """A store of version 1 with one run in it."""
    folder.mkdir(mode=0o700)
    with sqlite3.connect(folder / "store.db") as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(VERSION_1)
    database.close()
    return folder


def version(folder: Path) -> int:
    """Of a store's file."""
    database = sqlite3.connect(folder / "store.db")
    (found,) = database.execute("PRAGMA user_version").fetchone()
    database.close()
    return int(found)


def test_an_older_store_opens_and_keeps_what_it_has(tmp_path: Path) -> None:
    """And has the tables of today."""
    store = Store.open(older(tmp_path / "s"))
    assert store.read("SELECT run_id, agent FROM runs") == [("old", "a")]
    assert store.read("SELECT count(*) FROM messages") == [(1,)]
    assert store.read("SELECT count(*) FROM writes") == [(0,)]
    assert version(store.folder) == SCHEMA_VERSION


def test_it_has_the_same_tables_as_a_new_one(tmp_path: Path) -> None:
    """Whichever way they came."""
    query = "SELECT type, name FROM sqlite_schema ORDER BY type, name"
    old, new = Store.open(older(tmp_path / "old")), Store.open(tmp_path / "new")
    assert old.read(query) == new.read(query)


def test_every_store_has_an_id_of_its_own(tmp_path: Path) -> None:
    """By which a ledger knows that it asks the same one as before."""
    query = "SELECT value FROM store_facts WHERE name = 'id'"
    assert len({Store.open(tmp_path / name).read(query)[0] for name in "abc"}) == 3


def test_processes_that_find_an_older_store_upgrade_it_together(tmp_path: Path) -> None:
    """Each step runs once, and nobody sees half of it."""
    folder = older(tmp_path / "store")
    code = """
        import os
        from traced_loop.records.store import Store
        gate, go = os.pipe()
        pids = []
        for n in range(8):
            pid = os.fork()
            if pid == 0:
                os.close(go)
                os.read(gate, 1)
                store = Store.open()
                store.write("INSERT INTO messages VALUES (?, ?, ?)", [(f"p{n}", 0, "{}")])
                os._exit(0)
            pids.append(pid)
        os.close(go)
        assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 8
        assert Store.open().read("SELECT count(*) FROM messages") == [(9,)]
        assert Store.open().read("SELECT count(*) FROM store_facts WHERE name = 'id'") == [(1,)]
    """
    ended = run_python(code, folder)
    assert (ended.code, ended.err) == (0, "")


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of an upgrade or nothing."""
    folder = older(tmp_path / "s")

    def breaks(database: sqlite3.Connection) -> None:
        database.execute("CREATE TABLE half (a TEXT)")
        database.execute("no statement")

    monkeypatch.setattr(store_schema, "_STEPS", (*store_schema._STEPS[:1], breaks))
    database = sqlite3.connect(folder / "store.db", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        bring_up_to_date(folder / "store.db", database)
    assert database.execute("SELECT name FROM sqlite_schema WHERE name = 'half'").fetchall() == []
    database.close()
    assert version(folder) == 1


def test_a_newer_store_is_refused_in_a_closed_word(tmp_path: Path) -> None:
    """Nothing of it is changed."""
    Store.open(tmp_path / "s").close()
    database = sqlite3.connect(tmp_path / "s" / "store.db")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    with pytest.raises(StoreError, match="newer traced_loop") as raised:
        Store.open(tmp_path / "s")
    assert raised.value.why == "newer"
    assert version(tmp_path / "s") == SCHEMA_VERSION + 1


def altered(folder: Path, script: str) -> Path:
    """A new store in which somebody else has been."""
    Store.open(folder).close()
    with sqlite3.connect(folder / "store.db") as database:
        database.executescript(script)
    database.close()
    return folder


@pytest.mark.parametrize(
    "script",
    [
        "ALTER TABLE runs RENAME TO held; CREATE TABLE runs AS SELECT * FROM held",
        "ALTER TABLE runs RENAME TO held; CREATE VIEW runs AS SELECT * FROM held",
        "ALTER TABLE messages DROP COLUMN body; ALTER TABLE messages ADD COLUMN body ANY",
        "DROP TABLE progress",
    ],
    ids=["not strict", "view", "any type", "missing"],
)
def test_an_index_that_could_hold_values_of_other_types_is_damaged(tmp_path: Path, script: str) -> None:
    """It is said once, when it is opened; whatever is asked of it, nobody meets such a value."""
    folder = altered(tmp_path / "s", script)

    with LocalStore.open(folder) as store:
        assert [problem.kind for problem in store.problems] == [ProblemKind.INDEX_DAMAGED]
        assert (store.runs(), store.unsettled(), store.is_indexed) == ([], [], False)
    with pytest.raises(StoreError, match="not those that") as refused:
        IndexReader(folder / "store.db").read("SELECT seq FROM messages")
    assert refused.value.why == "damaged"


@pytest.mark.parametrize("script", ["VACUUM", "CREATE TABLE notes (text)", "ALTER TABLE runs ADD COLUMN note TEXT"])
def test_what_somebody_adds_to_an_index_is_no_damage(tmp_path: Path, script: str) -> None:
    """Nor what only moves its pages."""
    with LocalStore.open(altered(tmp_path / "s", script)) as store:
        assert (store.problems, store.is_indexed) == ((), True)


def test_an_older_index_is_read_as_it_is(tmp_path: Path) -> None:
    """It lacks tables of today, and that is no damage; a file in which none were made yet has no runs."""
    with LocalStore.open(older(tmp_path / "s")) as store:
        assert ([entry.run_id for entry in store.runs()], store.problems) == (["old"], ())
    sqlite3.connect(tmp_path / "empty.db").close()
    assert IndexReader(tmp_path / "empty.db").read("SELECT run_id FROM runs") == []
