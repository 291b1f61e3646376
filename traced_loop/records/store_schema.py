"""The tables of the store's file, version by version: an older file is brought up to date, a newer one is refused.

``PRAGMA user_version`` says how far a file is. Each version is one step in a list; a file goes through those that it
lacks in one transaction, whoever opens it first. A step that has been released is never changed.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

from traced_loop.errors import StoreError

_RUNS_AND_MESSAGES: Final = """
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

_LEDGER: Final = """
CREATE TABLE writes (
    tool TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN ('approved', 'running', 'succeeded', 'failed', 'unknown', 'rejected', 'undone')
    ),
    fingerprint TEXT NOT NULL,
    arguments TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_ns INTEGER NOT NULL,
    lease_ticks INTEGER NOT NULL,
    left_behind INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    trace_id TEXT,
    span_id TEXT,
    changed_ns INTEGER NOT NULL,
    PRIMARY KEY (tool, scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX writes_running ON writes (tool, fingerprint) WHERE state = 'running';
CREATE INDEX writes_by_change ON writes (changed_ns);
CREATE INDEX writes_by_run ON writes (run_id, call_id);
CREATE TABLE write_events (
    id INTEGER PRIMARY KEY,
    tool TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    event TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    by TEXT NOT NULL,
    note TEXT
) STRICT;
CREATE INDEX write_events_by_time ON write_events (at_ns);
CREATE INDEX write_events_by_run ON write_events (run_id, call_id);
CREATE TABLE forgotten_runs (run_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE progress (run_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE store_facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
"""``writes`` says what is known of each write by now, ``write_events`` how that came; both change in one transaction.
A write is one (tool, scope, key): the scope is ``''`` for a key of the tool's own, else the run's id. ``number`` is the
claim's, and 0 before the first. The fingerprint is that of the arguments and of the tool's version; ``arguments`` the
canonical JSON that the handler got. A result is JSON text, NULL where it is not kept."""


def _run_script(script: str) -> Callable[[sqlite3.Connection], None]:
    def step(database: sqlite3.Connection) -> None:
        for statement in script.split(";\n"):
            if statement.strip():
                database.execute(statement)

    return step


def _ledger(database: sqlite3.Connection) -> None:
    _run_script(_LEDGER)(database)
    facts = (("id", secrets.token_hex(16)), ("made_ns", str(time.time_ns())))
    database.executemany("INSERT INTO store_facts (name, value) VALUES (?, ?)", facts)


_STEPS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (_run_script(_RUNS_AND_MESSAGES), _ledger)
"""What makes a file of version n one of version n + 1, from an empty file on."""

_COLUMNS: Final = (
    'SELECT made.name, made.type, made.strict, held.name, held.type, held."notnull"'
    " FROM pragma_table_list AS made, pragma_table_info(made.name) AS held WHERE made.schema = 'main'"
)
"""Each column of each table, with what keeps values of other types out."""

LEDGER_VERSION: Final = 2
"""The first version that has the ledger's tables, and facts about the store."""

SCHEMA_VERSION: Final = len(_STEPS)
"""The version that this code writes."""


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
            " upgrade traced-loop, or use another store with --store",
            why="newer",
        )
    return int(version)


def check_tables(path: Path, database: sqlite3.Connection, version: int) -> None:
    """Check that a file has the tables of its version: their types are what whoever reads a row relies on.

    Args:
        path: of the file.
        database: a connection to it.
        version: of its tables, from ``format_of``.

    Raises:
        StoreError: a table is missing or was made otherwise.
        sqlite3.Error: it cannot be read.
    """
    if not _columns_of(version) <= set(database.execute(_COLUMNS)):
        raise StoreError(
            f"the store {path} is damaged: its tables are not those that traced-loop makes. Nothing was changed:"
            " move it away to begin a new one, or use another with --store DIR. The span files in its folder spans/ can"
            " still be read",
            why="damaged",
        )


@cache
def _columns_of(version: int) -> frozenset[tuple[object, ...]]:
    """What ``_COLUMNS`` gives of a file of that version."""
    with closing(sqlite3.connect(":memory:")) as database:
        for step in _STEPS[:version]:
            step(database)
        return frozenset(database.execute(_COLUMNS))


def make_ready(path: Path, database: sqlite3.Connection) -> None:
    """Bring the file up to date, or look that one that says it is has tables; as ``bring_up_to_date``."""
    if format_of(path, database) == SCHEMA_VERSION:
        database.execute("SELECT run_id FROM runs LIMIT 1").fetchone()
        return
    database.execute("PRAGMA journal_mode=WAL")
    bring_up_to_date(path, database)


def bring_up_to_date(path: Path, database: sqlite3.Connection) -> None:
    """Go through the steps that the file lacks, all of them or none; two processes may do so at the same time.

    Raises:
        StoreError: a newer version wrote the file, also while this one waited for its turn.
        sqlite3.Error: it cannot be written.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        version = format_of(path, database)
        for step in _STEPS[version:]:
            step(database)
        database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    except BaseException:
        database.rollback()
        raise
    database.commit()
