"""The writes of one run for its page."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from traced_loop.call_ledger import Write
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import FILE, Store
from traced_loop.web.run_writes import MAX_WRITES, RunWrites, run_writes

from ..command_line import traced_loop
from .sample_runs import doubtful_run, plain_run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_write_says_its_state_its_key_and_what_it_needs(home: Path) -> None:
    """Of one of which nobody knows there is the command that says what came of it."""
    result = doubtful_run(home)

    found = run_writes(home, result.run_id)

    assert [(write.call_id, write.state, write.key, write.by) for write in found.writes] == [
        ("call_1", "succeeded", "refund:A1", ""),
        ("call_2", "unknown", "refund:lost", ""),
    ]
    assert [write.resolve for write in found.writes] == ["", f"traced-loop resolve {result.run_id} call_2"]
    assert all(len(write.span_id) == 16 for write in found.writes)
    assert found.has_unknown


def test_a_persons_word_stands_beside_what_it_settled(home: Path) -> None:
    """Who said so, and how they know."""
    result = doubtful_run(home)
    said = ("--done", "--by", "anna", "--note", "seen in the books")
    assert traced_loop("resolve", result.run_id, "call_2", "--store", str(home), *said).code == 0

    [_, write] = run_writes(home, result.run_id).writes

    assert (write.state, write.by, write.note) == ("succeeded", "anna", "seen in the books")


def test_the_command_names_the_key_where_a_call_has_several_unknown_writes(home: Path) -> None:
    """The id alone would be refused."""
    result = doubtful_run(home)
    write = Write(
        tool="refund", key="refund:A2", fingerprint="f", declared=True, run_id=result.run_id, call_id="call_2"
    )
    DurableLedger(Store.open(home)).doubt(write)

    commands = [each.resolve for each in run_writes(home, result.run_id).writes if each.resolve]

    begin = f"traced-loop resolve {result.run_id} call_2 --key refund:"
    assert commands == [f"{begin}lost", f"{begin}A2"]


def test_a_run_that_only_reads_has_no_writes(home: Path) -> None:
    """Nor has one of a store that is not there."""
    result = plain_run(home)

    assert run_writes(home, result.run_id) == RunWrites()
    assert run_writes(home / "nowhere", "run-1") == RunWrites()


def test_many_writes_are_cut_to_the_latest_and_counted(home: Path) -> None:
    """The command shows all of them."""
    result = doubtful_run(home)
    with closing(sqlite3.connect(home / FILE)) as database, database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(writes)")]
        [row] = database.execute("SELECT * FROM writes WHERE call_id = 'call_1'").fetchall()
        places = ", ".join("?" * len(columns))
        for n in range(MAX_WRITES + 1):
            values = {**dict(zip(columns, row, strict=True)), "key": f"k{n:04d}"}
            database.execute(f"INSERT INTO writes VALUES ({places})", list(values.values()))

    found = run_writes(home, result.run_id)

    assert (len(found.writes), found.left_out) == (MAX_WRITES, 3)


def test_a_ledger_that_cannot_be_read_is_said(home: Path) -> None:
    """The rest of the page does not need it."""
    result = doubtful_run(home)
    for path in home.glob(f"{FILE}*"):
        path.unlink()
    (home / FILE).write_bytes(b"not a database" * 100)

    found = run_writes(home, result.run_id)

    assert found.writes == ()
    assert str(home / FILE) in found.problem
