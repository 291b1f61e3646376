"""The store stays below its limit: the oldest runs that owe nothing go; when none may go, runs are not recorded."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, Policy, ScriptedModel, names, tool
from traced_loop.call_ledger import Write
from traced_loop.errors import UsageError
from traced_loop.models.scripted import calls
from traced_loop.records.delivery_marks import OWED
from traced_loop.records.file_locks import locked
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store
from traced_loop.records.store_room import DEFAULT_BYTES, RoomWatch, make_room, max_bytes, used_bytes
from traced_loop.setup import wire

from ..command_line import traced_loop
from ..python_program import ONE_CALL, run_python
from .test_owed_spans import Recorded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("given", "limit"), [("", DEFAULT_BYTES), ("0", None), (" 5000 ", 5000)])
def test_the_limit_is_the_environments(given: str, limit: int | None) -> None:
    """In bytes; 0 is none."""
    assert max_bytes({"TRACED_LOOP_STORE_MAX_BYTES": given}) == limit


@pytest.mark.parametrize("given", ["2GB", "-1", "1.5", "\u0662x"])
def test_another_limit_is_refused(given: str) -> None:
    """With what is allowed."""
    with pytest.raises(UsageError, match="a number of bytes, or 0"):
        max_bytes({"TRACED_LOOP_STORE_MAX_BYTES": given})


def runs_of(recorded: Recorded) -> list[str]:
    """What the index has, the oldest first."""
    return [str(run_id) for (run_id,) in recorded.store.read("SELECT run_id FROM runs ORDER BY started_ns, run_id")]


def filled(folder: Path, *, owing: str = "") -> Recorded:
    """Ten runs of some 10 KB each, of which the named ones owe a span."""
    recorded = Recorded(folder)
    for name in "abcdefghij":
        recorded.span(1, name, exported=name in owing, root=True, k="x" * 10_000)
        recorded.store.write("UPDATE runs SET started_ns = ? WHERE run_id = ?", [(ord(name), name)])
        recorded.store.write("INSERT INTO messages VALUES (?, 0, ?)", [(name, "{}")])
    return recorded


def small(recorded: Recorded) -> int:
    """A limit that about half of the runs fit into."""
    return used_bytes(recorded.store) - 40_000


def test_below_the_limit_nothing_goes(tmp_path: Path) -> None:
    """And nothing is made to find that out."""
    recorded = filled(tmp_path / "s")
    before = sorted(path.name for path in (tmp_path / "s").iterdir())
    room = make_room(recorded.store, used_bytes(recorded.store))
    assert (room.removed, room.is_full) == (0, False)
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == before


def test_the_oldest_go_first_with_their_messages_and_marks(tmp_path: Path) -> None:
    """Until there is some room again."""
    recorded = filled(tmp_path / "s")
    recorded.marks.settle("a", [OWED], 3)
    room = make_room(recorded.store, small(recorded))
    left = runs_of(recorded)
    assert left == list("abcdefghij")[-len(left) :]
    assert (room.removed, room.is_full, 0 < len(left) < 7) == (10 - len(left), False, True)
    assert sorted(p.name[0] for p in (tmp_path / "s" / "spans").iterdir()) == left
    assert [r for (r,) in recorded.store.read("SELECT run_id FROM messages ORDER BY run_id")] == left
    assert recorded.marks.sizes() == {}


def test_what_is_owed_stays(tmp_path: Path) -> None:
    """It is there nowhere else; when it was delivered it may go."""
    recorded = filled(tmp_path / "s", owing="abcdefghij")
    room = make_room(recorded.store, 20_000)
    assert (room.removed, room.is_full, len(runs_of(recorded))) == (0, True, 10)

    recorded.marks.taken("home", {"b": [1]})
    assert make_room(recorded.store, 20_000).removed == 1
    assert runs_of(recorded) == list("acdefghij")


def test_runs_that_go_on_are_sent_or_are_unclear_stay(tmp_path: Path) -> None:
    """A write that may have happened is found again by its run; the ledger knows of some that no span tells."""
    recorded = filled(tmp_path / "s")
    recorded.store.write("UPDATE runs SET ended_ns = NULL WHERE run_id = ?", [("a",)])
    recorded.store.write("UPDATE runs SET stop_reason = 'outcome_unknown' WHERE run_id = ?", [("b",)])
    recorded.span(2, "c", exported=False, **{names.CALL_OUTCOME: "unknown"})
    write = Write(tool="pay", key="k", fingerprint="f", declared=True, run_id="e")
    DurableLedger(recorded.store).begin(write)
    with locked(recorded.owed.path("d")):
        make_room(recorded.store, 1)
    assert runs_of(recorded) == list("abcde")


@tool(effect="write")
def pay() -> str:
    """Pay, or not."""
    raise ValueError("the line went dead")


def test_a_run_with_a_write_of_which_nobody_knows_stays(tmp_path: Path) -> None:
    """As a real run leaves it, also where it did not stop for it."""
    folder = tmp_path / "s"
    loop = Loop(ScriptedModel([calls(("pay", {}))]), [pay], store=folder, policy=Policy(confirm=lambda _: True))
    assert loop.run("go").stop_reason == "outcome_unknown"
    store = Store.open(folder)
    store.write("UPDATE runs SET stop_reason = 'cancelled'", [()])
    assert make_room(store, 1).removed == 0


def one(**options: Any) -> Any:
    """A short run."""
    return Loop(ScriptedModel(["done"]), **options).run("go")


@pytest.mark.usefixtures("home")
def test_a_run_that_finds_the_store_full_goes_on_and_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In its receipt, once in the log, and to the doctor; nothing of it is in the store."""
    first = one()
    for looking in [thread for thread in threading.enumerate() if thread.name == "traced-loop-room"]:
        looking.join()  # or it would say after us that there is room
    (home / "room").write_text("full\n")
    caplog.set_level(logging.WARNING)
    second, third = one(), one()
    assert (second.answer, second.receipt.store_full, second.receipt.spans_recorded) == ("done", True, 0)
    assert (third.receipt.store_full, first.receipt.store_full) == (True, False)
    [record] = caplog.records
    assert "`traced-loop deliver`" in record.getMessage()
    store = Store.open(home)
    assert store.read("SELECT DISTINCT run_id FROM messages") == [(first.run_id,)]
    assert [path.name.partition(".")[0] for path in (home / "spans").iterdir()] == [first.run_id]
    monkeypatch.setenv("TRACED_LOOP_STORE_MAX_BYTES", "1000")
    assert "of 1,000: FULL" in traced_loop("doctor").out


@pytest.mark.usefixtures("home")
def test_without_a_limit_nothing_is_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even whether another process found it full."""
    one()
    (home / "room").write_text("full\n")
    monkeypatch.setenv("TRACED_LOOP_STORE_MAX_BYTES", "0")
    assert not one().receipt.store_full
    assert wire().store == str(home)


def test_a_run_that_found_room_keeps_it_whatever_is_found_meanwhile(tmp_path: Path) -> None:
    """Its messages come first and its spans a moment later."""
    recorded = filled(tmp_path / "s")
    watch = RoomWatch(recorded.store, used_bytes(recorded.store) * 2)
    watch.begins("new")
    watch.wait()
    (tmp_path / "s" / "room").write_text("full\n")
    watch.begins("new")
    watch.check("new")
    with pytest.raises(UsageError):
        watch.begins("newer")


def test_processes_that_live_for_a_moment_find_out_too(tmp_path: Path) -> None:
    """The first leaves word that the store is above its limit; of those that owe nothing only the newest is left."""
    code = f"{ONE_CALL}\nresult = one_call()\nprint(result.receipt.store_full)"
    owed = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces", "TRACED_LOOP_STORE_MAX_BYTES": "9000"}
    assert [run_python(code, tmp_path / "s", **owed).out for _ in range(2)] == ["False\n", "True\n"]


def test_a_store_that_has_room_again_records_again(tmp_path: Path) -> None:
    """Whoever looks next says so."""
    recorded = filled(tmp_path / "s")
    watch = RoomWatch(recorded.store, used_bytes(recorded.store) * 2)
    (tmp_path / "s" / "room").write_text("full\n")
    watch.wrote(10**9)
    with pytest.raises(UsageError, match="no run in it may go"):
        watch.begins("new")
    watch.wait()
    watch.begins("newer")
    with pytest.raises(UsageError):
        watch.check("new")


@pytest.mark.usefixtures("home")
def test_a_folder_in_the_place_of_the_answer_says_nothing(home: Path) -> None:
    """Nobody of us made it, and no run is refused for it."""
    one()
    (home / "room").unlink(missing_ok=True)
    (home / "room" / "inside").mkdir(parents=True)
    result = one()
    assert not result.receipt.store_full
    assert result.receipt.spans_recorded
