"""The ledger on disk: the contract of every ledger, and what a file adds that outlives processes."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from traced_loop.call_ledger import Claim, Resolution, Write, WriteEnd
from traced_loop.errors import StoreError
from traced_loop.records.database import Database
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.leases import LEASE_SECONDS
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.process_identity import claimant
from traced_loop.records.store import Store
from traced_loop.records.write_rows import events_of_run, open_rows, rows_of_run

from ..loop.ledger_contract import LedgerContract
from ..python_program import run_python

WRITE = Write(
    tool="pay", key="k", fingerprint="f", declared=True, run_id="run-1", call_id="call_1", arguments='{"a":1}'
)
IN_RUN = replace(WRITE, key="run-1:pay:f", declared=False)
DONE = WriteEnd(state="succeeded", content="told", span=(1, 2), ended_ns=7)


class DurableContract(LedgerContract):
    """The contract, kept on disk; every claim through the one object or through another of the same process."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store.open(Path(self.folder.name) / "s")
        self.ledger = DurableLedger(self.store, busy_seconds=0)

    @contextmanager
    def failing(self) -> Iterator[type[Exception] | None]:
        """Another process holds the file."""
        other = Database(self.store.file)
        with other.transaction():
            yield StoreError
        other.close()

    def teardown(self) -> None:
        """See there."""
        self.folder.cleanup()


TestDurableContract = DurableContract.TestCase


def ledger_in(folder: Path, **options: object) -> DurableLedger:
    """One of the store in a folder, as another process would open it."""
    return DurableLedger(Store.open(folder / "s"), **options)  # type: ignore[arg-type]


def index_of(folder: Path) -> IndexReader:
    """The same store for reading."""
    return IndexReader(folder / "s" / "store.db")


def begun(ledger: DurableLedger, write: Write = WRITE) -> Claim:
    """A claim on a write that is free."""
    claim = ledger.begin(write).claim
    assert claim is not None
    return claim


def changed(folder: Path, statement: str) -> None:
    """Change the file by hand."""
    Store.open(folder / "s").write(statement, [()])


def of_a_dead_process(folder: Path) -> None:
    """Give every claim to a process that is gone."""
    place = claimant().rpartition("|")[0]
    changed(folder, f"UPDATE writes SET owner = '{place}|4194305:1'")


def test_what_was_done_is_known_to_whoever_opens_the_store(tmp_path: Path) -> None:
    """With its result and the span that shows it, byte for byte."""
    told = WriteEnd(
        state="succeeded", content='{"result":"ü\ud83d \\u0000"}\n', span=(2**128 - 1, 2**64 - 1), ended_ns=7
    )
    first = ledger_in(tmp_path)
    first.settle(begun(first), told)

    assert ledger_in(tmp_path).standing(WRITE).end == told


def test_events_tell_how_a_state_came_and_states_what_is_known(tmp_path: Path) -> None:
    """Approved, running, ended: in order, with who said so."""
    ledger = ledger_in(tmp_path)
    ledger.decided(WRITE, "approved", "ann")
    ledger.settle(begun(ledger), DONE)

    events = events_of_run(index_of(tmp_path), "run-1")
    assert [(event.event, event.by) for event in events] == [
        ("approved", "ann"),
        ("running", "loop"),
        ("succeeded", "loop"),
    ]
    (row,) = rows_of_run(index_of(tmp_path), "run-1")
    assert (row.state, row.call_id, row.arguments, row.content) == ("succeeded", "call_1", '{"a":1}', "told")


def test_what_a_person_approved_is_known_before_it_runs(tmp_path: Path) -> None:
    """So that a run that crashes between the two need not ask again; a rejection is there as well."""
    ledger = ledger_in(tmp_path)
    ledger.decided(WRITE, "rejected", "ann")
    ledger.decided(IN_RUN, "approved", "ann")

    assert [row.state for row in rows_of_run(index_of(tmp_path), "run-1")] == ["rejected", "approved"]
    assert ledger.standing(WRITE).state == "free"


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    """It holds real results, whatever the umask."""
    before = os.umask(0)
    try:
        begun(ledger_in(tmp_path))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "s").iterdir() if path.is_file()}
    assert {oct(mode) for mode in modes.values()} == {"0o600"}


def test_a_claim_is_synced_to_the_disk(tmp_path: Path) -> None:
    """Other records are not: they cost a moment of memory at most."""
    ledger = ledger_in(tmp_path)
    begun(ledger)
    with ledger._database.using() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert Store.open(tmp_path / "s").read("PRAGMA synchronous") == [(1,)]


def test_what_a_process_that_is_gone_had_running_is_unknown_at_once(tmp_path: Path) -> None:
    """And stays so: it may have happened. The event says why."""
    begun(ledger_in(tmp_path))
    of_a_dead_process(tmp_path)
    ledger = ledger_in(tmp_path)

    found = ledger.begin(WRITE)
    assert (found.state, found.claim, found.number) == ("unknown", None, 1)
    last = events_of_run(index_of(tmp_path), "run-1")[-1]
    assert (last.event, last.by, last.note) == ("unknown", "lease", "its process is gone")


def test_asking_finds_that_out_as_well(tmp_path: Path) -> None:
    """Whatever asks first."""
    begun(ledger_in(tmp_path))
    of_a_dead_process(tmp_path)

    assert ledger_in(tmp_path).standing(WRITE).state == "unknown"
    assert [row.state for row in open_rows(index_of(tmp_path))] == ["unknown"]


@pytest.mark.parametrize(
    ("place", "wall", "ticks", "state"),
    [
        ("another-boot/pid:[1]", LEASE_SECONDS - 1, 0, "running"),
        ("another-boot/pid:[1]", LEASE_SECONDS + 1, 0, "unknown"),
        ("another-boot/pid:[1]", -86_400, 1_000, "running"),
        ("this boot/pid:[1]", 0, LEASE_SECONDS - 1, "running"),
        ("this boot/pid:[1]", 0, LEASE_SECONDS + 1, "unknown"),
        ("this boot/pid:[1]", 86_400, 1, "running"),
        ("this boot/pid:[1]", -86_400, LEASE_SECONDS + 1, "unknown"),
        (None, 86_400, 86_400, "running"),
        (None, -86_400, 86_400, "running"),
    ],
)
def test_a_lease_decides_only_where_a_process_cannot_be_seen(
    tmp_path: Path, place: str | None, wall: float, ticks: float, state: str
) -> None:
    """In a container by the machine's own clock, which nobody sets; a clock set back makes no live claim expire."""
    begun(ledger_in(tmp_path, now_ns=lambda: 10**18, ticks=lambda: 10**12))
    if place is not None:
        place = place.replace("this boot", claimant().partition("/")[0])
        changed(tmp_path, f"UPDATE writes SET owner = '{place}|1:1'")
    later = ledger_in(tmp_path, now_ns=lambda: 10**18 + round(wall * 1e9), ticks=lambda: 10**12 + round(ticks * 1e9))

    assert later.standing(WRITE).state == state


def test_a_beat_makes_a_lease_longer(tmp_path: Path) -> None:
    """Of the claims of this process alone."""
    now = [10**18]
    ledger = ledger_in(tmp_path, now_ns=lambda: now[0])
    begun(ledger)
    begun(ledger, replace(WRITE, key="other"))
    changed(tmp_path, "UPDATE writes SET owner = 'elsewhere/|1:1' WHERE key = 'other'")
    now[0] += 20 * 10**9
    ledger._beat()

    leases = {row.name[2]: row.lease_ns for row in open_rows(index_of(tmp_path))}
    assert (leases["k"] - leases["other"]) == 20 * 10**9


def test_a_claim_that_is_not_the_newest_changes_nothing_and_leaves_a_trace(tmp_path: Path) -> None:
    """What comes late is evidence that somebody resolved too early."""
    ledger = ledger_in(tmp_path)
    old = begun(ledger)
    ledger.settle(old, WriteEnd(state="unknown"))
    assert ledger.resolve(WRITE, old.number, Resolution(state="free", by="ann", note="not in the books"))
    new = begun(ledger)
    ledger.settle(old, DONE)

    assert ledger.standing(WRITE).state == "running"
    assert (old.number, new.number) == (1, 2)
    events = [(e.number, e.event, e.by, e.note) for e in events_of_run(index_of(tmp_path), "run-1")]
    assert events[2:] == [
        (1, "unknown", "loop", None),
        (1, "failed", "ann", "not in the books"),
        (2, "approved", "loop", None),
        (2, "running", "loop", None),
        (1, "fenced succeeded", "loop", None),
    ]


def test_a_claim_of_another_process_is_not_settled_by_its_number(tmp_path: Path) -> None:
    """A forked child has its parent's claims in memory, and none on the disk."""
    ledger = ledger_in(tmp_path)
    claim = begun(ledger)
    pid = os.fork()
    if pid == 0:
        ledger.settle(claim, DONE)
        os._exit(0)
    os.waitpid(pid, 0)

    assert ledger.standing(WRITE).state == "running"
    assert events_of_run(index_of(tmp_path), "run-1")[-1].event == "fenced succeeded"


def test_the_late_end_of_an_unknown_write_is_known(tmp_path: Path) -> None:
    """By the process that has the claim still."""
    ledger = ledger_in(tmp_path)
    claim = begun(ledger)
    ledger.settle(claim, WriteEnd(state="unknown"))
    ledger.settle(claim, DONE)

    assert ledger_in(tmp_path).standing(WRITE).end == DONE


def test_a_store_that_is_deleted_while_a_run_goes_on_ends_its_writes(tmp_path: Path) -> None:
    """What the run has done is not known any more; a run that begins then finds the new store."""
    ledger = ledger_in(tmp_path)
    claim = begun(ledger)
    ledger.settle(claim, DONE)
    for path in (tmp_path / "s").glob("store.db*"):
        path.unlink()
    for act in (lambda: ledger.begin(IN_RUN), lambda: ledger.standing(WRITE), lambda: ledger.settle(claim, DONE)):
        with pytest.raises(StoreError) as raised:
            act()
        assert raised.value.why == "gone"

    Store.open(tmp_path / "s")
    assert ledger.begin(replace(WRITE, run_id="run-2")).claim is not None
    with pytest.raises(StoreError) as raised:
        ledger.begin(IN_RUN)
    assert raised.value.why == "gone"


def test_a_store_that_stands_for_a_damaged_one_uses_no_key_that_may_be_used_up(tmp_path: Path) -> None:
    """Until somebody says that the loss is accepted; a key that holds in its run is new in any case."""
    (tmp_path / "s").mkdir(mode=0o700)
    (tmp_path / "s" / "store.db").write_text("damaged " * 1000)
    ledger = ledger_in(tmp_path)

    assert ledger.begin(IN_RUN).claim is not None
    for ask in (ledger.standing, ledger.begin):
        with pytest.raises(StoreError, match=r"store\.db\.damaged-.*--accept-loss") as raised:
            ask(WRITE)
        assert raised.value.why == "damaged"


def day(number: float) -> int:
    """In nanoseconds."""
    return 10**18 + round(number * 86_400e9)


def test_results_are_kept_for_thirty_days_and_keys_for_good(tmp_path: Path) -> None:
    """A write that runs or is unknown is never let go of, and no key is used again."""
    now = [day(0)]
    ledger = ledger_in(tmp_path, now_ns=lambda: now[0])
    keys = {name: replace(WRITE, key=name) for name in ("done", "running", "unknown", "failed", "undone")}
    for name, write in keys.items():
        claim = begun(ledger, write)
        if name != "running":
            state = {"done": "succeeded", "failed": "free"}.get(name, name)
            ledger.settle(claim, WriteEnd(state=state, content="told"))  # type: ignore[arg-type]
    ledger.settle(begun(ledger, IN_RUN), DONE)
    changed(tmp_path, f"UPDATE writes SET changed_ns = {day(0)}")
    now[0] = day(29)
    ledger.standing(WRITE)
    ledger.end_run("run-1")
    assert {ledger.standing(IN_RUN).state, ledger.standing(keys["done"]).state} == {"succeeded"}
    now[0] = day(31)
    ledger.end_run("run-1")

    states = {name: ledger.standing(write).state for name, write in keys.items()}
    assert states == {
        "done": "succeeded",
        "running": "running",
        "unknown": "unknown",
        "failed": "free",
        "undone": "undone",
    }
    end = ledger.standing(keys["done"]).end
    assert end is not None
    assert end.content is None
    assert {row.name[2] for row in rows_of_run(index_of(tmp_path), "run-1")} == {"done", "running", "unknown", "undone"}
    assert {event.event for event in events_of_run(index_of(tmp_path), "run-1")} == {"approved", "running", "unknown"}


def test_a_run_whose_writes_are_forgotten_writes_no_more(tmp_path: Path) -> None:
    """Resumed after its retention, it must not do again what nobody remembers; other runs are not concerned."""
    now = [day(0)]
    ledger = ledger_in(tmp_path, now_ns=lambda: now[0], retention_days=1)
    ledger.settle(begun(ledger, IN_RUN), WriteEnd(state="succeeded", content="told", ended_ns=day(0)))
    now[0] = day(2)
    ledger.end_run("run-1")

    assert ledger.begin(IN_RUN).state == "unknown"
    assert ledger.begin(replace(IN_RUN, key="run-1:pay:g", fingerprint="g")).state == "unknown"
    assert ledger.begin(replace(IN_RUN, run_id="run-2", key="run-2:pay:f")).state == "free"


RACE = """
import json, os, sys
from traced_loop.call_ledger import Write, WriteEnd
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store

def execute(key):
    descriptor = os.open("effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{key}\\n".encode())
    os.close(descriptor)

def work(number, keys):
    ledger = DurableLedger(Store.open(), busy_seconds=30)
    seen = {"ran": 0, "replayed": 0}
    for step in range(keys):
        key = f"key-{(step + number * 7) % keys}"
        write = Write(tool="pay", key=key, fingerprint="f", declared=True, run_id=f"run-{number}")
        while True:
            found = ledger.standing(write)
            found = ledger.begin(write) if found.state == "free" else found
            if found.claim is not None:
                execute(key)
                ledger.settle(found.claim, WriteEnd(state="succeeded", content=key, ended_ns=1))
                seen["ran"] += 1
            elif found.state == "succeeded":
                assert found.end.content == key
                seen["replayed"] += 1
            else:
                assert found.state == "running", found
                continue
            break
    os.write(1, (json.dumps(seen) + "\\n").encode())

gate, go = os.pipe()
pids = []
for number in range(16):
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(gate, 1)
        work(number, 1000)
        os._exit(0)
    pids.append(pid)
os.close(go)
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 16
"""


def test_sixteen_processes_that_race_for_a_thousand_keys_execute_each_once(tmp_path: Path) -> None:
    """The others are given what the one has done."""
    ended = run_python(RACE, tmp_path / "store")
    assert (ended.code, ended.err) == (0, "")

    effects = (tmp_path / "effects").read_text().split()
    assert (len(effects), len(set(effects))) == (1000, 1000)
    seen = [json.loads(line) for line in ended.out.splitlines()]
    assert (sum(each["ran"] for each in seen), sum(each["replayed"] for each in seen)) == (1000, 15_000)
