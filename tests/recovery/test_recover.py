"""A run whose process is gone is brought to its end, from whatever it had recorded."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from traced_loop import names
from traced_loop.call_ledger import Write, WriteEnd
from traced_loop.diagnose.conformance import conform
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.errors import StoreError
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store
from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX
from traced_loop.recovery.recover import recover
from traced_loop.views.diagnosis import diagnosis_json
from traced_loop.views.header import header

from .cut_runs import recorded_run, store_up_to

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.call_ledger import EndState
    from traced_loop.read.local_store import StoredRun

EVENTS = recorded_run()


def stored(folder: Path) -> StoredRun:
    """The only run of a store."""
    with LocalStore.open(folder) as reader:
        return reader.run(reader.find("last"))


def died_after(folder: Path, event: int) -> Store:
    """A store as it is left where a process that is gone by now was killed after one of the events."""
    store = store_up_to(folder, EVENTS[: event + 1])
    store.write("UPDATE runs SET process = ?", [("1:1",)])
    return store


def lines(run: StoredRun) -> list[str]:
    """The tree, each span with its stop reason or outcome."""
    shown: list[str] = []
    for depth, span in run.trace.walk():
        word = span.text(names.CALL_OUTCOME) or span.text(names.RUN_STOP_REASON) or ""
        shown.append(f"{'  ' * depth}{span.name}{' -> ' if word else ''}{word}{' ERROR' if span.is_error else ''}")
    return shown


@pytest.mark.parametrize("point", range(1, len(EVENTS) + 1))
def test_wherever_a_run_is_cut_off_its_trace_keeps_every_promise(tmp_path: Path, point: int) -> None:
    """After each start and each end of a span: one stop reason, every span ended, nothing that did not happen."""
    store = store_up_to(tmp_path, EVENTS[:point])
    before = stored(tmp_path)

    found = recover(store, before.entry.run_id)

    after = stored(tmp_path)
    assert conform(our_run(after.trace)).violations == ()
    assert after.problems == ()
    assert found.spans == sum(span.is_open for span in before.trace.spans)
    whole = point == len(EVENTS)
    assert after.entry.stop_reason == ("final_answer" if whole else "unknown_after_crash")
    kept = {span.key: span for span in before.trace.spans if not span.is_open}
    assert kept.items() <= {span.key: span for span in after.trace.spans}.items()
    assert not list((tmp_path / "spans").glob(f"*{OPEN_SUFFIX}"))


def test_a_run_that_died_in_a_write_says_what_nobody_knows(tmp_path: Path) -> None:
    """The write is ``unknown_after_crash``; calls that nothing is known of have no outcome made up for them."""
    in_write = next(n for n, (_, span) in enumerate(EVENTS) if span.name == "execute_tool pay")
    store = store_up_to(tmp_path, EVENTS[: in_write + 1])

    found = recover(store, stored(tmp_path).entry.run_id)

    run = stored(tmp_path)
    assert (found.doing, found.spans, found.unknown_calls) == ("execute_tool pay (call_3)", 3, ("call_3",))
    assert run.entry.stop_detail == "its process ended in execute_tool pay (call_3)"
    assert lines(run) == [
        "invoke_agent agent -> unknown_after_crash ERROR",
        "  traced_loop.check_budget",
        "  traced_loop.step",
        "    chat scripted",
        "    traced_loop.validate_call",
        "    traced_loop.validate_call",
        "    traced_loop.authorize_call",
        "    traced_loop.authorize_call",
        "    traced_loop.check_budget",
        "    execute_tool look -> ok",
        "    execute_tool look -> ok",
        "    traced_loop.append_results",
        "    traced_loop.check_budget",
        "  traced_loop.check_budget",
        "  traced_loop.step ERROR",
        "    chat scripted",
        "    traced_loop.validate_call",
        "    traced_loop.validate_call -> unknown_tool",
        "    traced_loop.validate_call",
        "    traced_loop.authorize_call",
        "    traced_loop.authorize_call",
        "    traced_loop.check_budget",
        "    traced_loop.authorize_call",
        "    execute_tool pay -> unknown_after_crash ERROR",
    ]


@pytest.mark.parametrize(
    ("state", "outcome", "unknown"),
    [("succeeded", "ok", ()), ("free", "error ERROR", ()), ("unknown", "unknown_after_crash ERROR", ("call_3",))],
)
def test_what_the_ledger_knows_of_a_write_is_its_outcome(
    tmp_path: Path, state: EndState, outcome: str, unknown: tuple[str, ...]
) -> None:
    """Killed between the ledger's entry and the span's end: what is known there is not unknown."""
    in_write = next(n for n, (_, span) in enumerate(EVENTS) if span.name == "execute_tool pay")
    store = store_up_to(tmp_path, EVENTS[: in_write + 1])
    run = stored(tmp_path)
    [execution] = [span for span in run.trace.spans if span.name == "execute_tool pay"]

    write = Write(tool="pay", key="k", fingerprint="f", declared=False, run_id=run.entry.run_id, call_id="call_3")
    ledger = DurableLedger(store)
    claim = ledger.begin(write).claim
    assert claim is not None
    trace_id, span_id = (int(identifier, 16) for identifier in execution.key)
    ledger.settle(claim, WriteEnd(state=state, span=(trace_id, span_id)))

    found = recover(store, run.entry.run_id)

    assert found.unknown_calls == unknown
    assert f"    execute_tool pay -> {outcome}" in lines(stored(tmp_path))
    assert conform(our_run(stored(tmp_path).trace)).violations == ()


def test_what_is_known_of_a_dead_runs_time_is_the_same_before_and_after(tmp_path: Path) -> None:
    """It took at least what its last sign tells: as a list, a page and a diagnosis say it, for people and programs."""
    in_chat = next(n for n, (_, span) in enumerate(EVENTS) if span.name.startswith("chat"))
    store = died_after(tmp_path, in_chat)
    run_id = stored(tmp_path).entry.run_id
    before, least = stored(tmp_path), stored(tmp_path).entry.seconds_at_least
    assert least is not None

    said: list[list[str]] = []
    for ended in (False, True):
        if ended:
            recover(store, run_id)
        run = stored(tmp_path)
        with LocalStore.open(tmp_path) as reader:
            [listed] = reader.runs(1)
        for entry in (run.entry, listed):
            assert (entry.seconds, entry.seconds_at_least) == (None, pytest.approx(least))
        shown = [line.plain for line in header(replace(run, entry=replace(run.entry, state=before.entry.state)))]
        said.append([line for line in shown if line.split()[0] in {"began", "was", "last"}])
        diagnosis = diagnosis_json(diagnose(replace(our_run(run.trace), state="unknown")))
        assert (diagnosis["duration_ns"], diagnosis["duration_at_least_ns"]) == (None, round(least * 1e9))

    assert said[0] == said[1]
    assert [line.split()[0] for line in said[0]] == ["began", "was", "last"]
    assert "took at least" in said[0][0]


def test_the_claim_of_a_write_is_a_sign_of_life(tmp_path: Path) -> None:
    """It is renewed while the write runs: killed in a long one, the run lasted until then at least."""
    in_write = next(n for n, (_, span) in enumerate(EVENTS) if span.name == "execute_tool pay")
    store = died_after(tmp_path, in_write)
    run = stored(tmp_path)
    renewed = run.trace.last_ns + 3_600_000_000_000
    write = Write(tool="pay", key="k", fingerprint="f", declared=False, run_id=run.entry.run_id, call_id="call_3")
    DurableLedger(store, now_ns=lambda: renewed).begin(write)

    before = stored(tmp_path).entry.seconds_at_least
    recover(store, run.entry.run_id)

    after = stored(tmp_path)
    assert before is not None
    assert before > 3600
    assert after.entry.seconds_at_least == pytest.approx(before)
    assert after.trace.last_ns == renewed
    [pay] = [span for span in after.trace.spans if span.name == "execute_tool pay"]
    assert (pay.end_ns, pay.is_recovered) == (renewed, True)


def test_a_second_recovery_writes_the_same(tmp_path: Path) -> None:
    """Killed before the index was written, or two at once: the same spans under the same ids, counted once."""
    point = len(EVENTS) // 2
    store = store_up_to(tmp_path, EVENTS[:point])
    [open_file] = (tmp_path / "spans").glob(f"*{OPEN_SUFFIX}")
    shutil.copy(open_file, tmp_path / "kept")
    run_id = stored(tmp_path).entry.run_id
    recover(store, run_id)
    once = stored(tmp_path)
    shutil.copy(tmp_path / "kept", open_file)

    again = recover(store, run_id)

    assert again.spans == 0
    assert stored(tmp_path).trace == once.trace


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    """What is written after it begins a line of its own."""
    point = next(n for n, (_, span) in enumerate(EVENTS) if span.name == "execute_tool pay")
    store = store_up_to(tmp_path, EVENTS[: point + 1])
    [ended] = (tmp_path / "spans").glob(f"*{ENDED_SUFFIX}")
    with ended.open("ab") as file:
        file.write(b'{"resourceSpans":[{"reso')

    recover(store, stored(tmp_path).entry.run_id)

    run = stored(tmp_path)
    assert [problem.kind for problem in run.problems] == ["unreadable_line"]
    assert run.entry.stop_reason == "unknown_after_crash"
    assert not any(span.is_open for span in run.trace.spans)


def test_a_store_that_cannot_be_written_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    """The starts stay, so that a later recovery can go on."""
    store = store_up_to(tmp_path, EVENTS[: len(EVENTS) // 2])
    [ended] = (tmp_path / "spans").glob(f"*{ENDED_SUFFIX}")
    run_id = stored(tmp_path).entry.run_id
    ended.rename(tmp_path / "aside")
    ended.mkdir()

    with pytest.raises(StoreError, match="cannot end the run"):
        recover(store, run_id)

    assert list((tmp_path / "spans").glob(f"*{OPEN_SUFFIX}"))


def test_a_run_without_a_span_of_its_own_leaves_the_list_of_open_runs(tmp_path: Path) -> None:
    """Its span files are gone: the index says all that is known."""
    store = store_up_to(tmp_path, EVENTS[:1])
    [open_file] = (tmp_path / "spans").glob(f"*{OPEN_SUFFIX}")
    open_file.unlink()

    found = recover(Store.open(tmp_path), EVENTS[0][1].run_id)

    assert (found.spans, stored(tmp_path).entry.stop_reason) == (0, "unknown_after_crash")
    store.close()
