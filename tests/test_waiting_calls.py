"""What waits in a stored run, told without a change of it: the same that ``resume`` lets a person decide about."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traced_loop import Identity, Loop, Policy, ScriptedModel, UsageError, confirm_when, tool
from traced_loop.call_ledger import Resolution
from traced_loop.read.local_store import LocalStore
from traced_loop.records.open_writes import open_writes, resolve_write
from traced_loop.records.store import Store
from traced_loop.testing import calls
from traced_loop.waiting_calls import waiting_run

from .python_program import environment, run_python
from .test_resumed_processes import SHOP

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.waiting_calls import WaitingRun

DONE: list[str] = []


@tool(effect="write", risk="high")
def pay(cents: int) -> str:
    """Pay."""
    DONE.append(str(cents))
    return f"paid {cents}"


@tool(effect="read")
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def loop(*script: Any, **options: Any) -> Loop:
    """A loop of its own each time, as another process would have it."""
    return Loop(ScriptedModel(list(script)), [pay, look], **options)


def waiting(run_id: str) -> WaitingRun | None:
    """What waits in a run of the default store."""
    with LocalStore.open() as store:
        return waiting_run(store, run_id)


BATCH = calls(("look", {"n": 1}), ("pay", {"cents": 5}), ("pay", {"cents": 7}), ("look", {"n": 2}))


def test_a_call_that_waits_is_told_with_why_and_what_is_behind_it(home: Path) -> None:
    """Arguments as they would run, who asks and the rule; writes behind it are told, reads and what ran are not."""
    first = loop(BATCH).run("Go.", identity=Identity(id="ann"))
    found = waiting(first.run_id)
    assert found is not None
    assert (found.trace_id, found.answer, found.decided) == (first.trace_id, 1, ())
    [call] = found.waiting
    assert (call.id, call.tool, call.canonical_arguments) == ("call_2", "pay", '{"cents":5}')
    assert (call.effect, call.risk, call.rule, call.identity) == ("write", "high", "default_write", "ann")
    assert call.fingerprint == first.pending[0].fingerprint
    assert call.asked_ns > 0
    assert [(each.id, each.canonical_arguments, each.asked_ns) for each in found.behind] == [
        ("call_3", '{"cents":7}', 0)
    ]


def test_what_was_said_before_is_told_and_another_part_has_another_trace(home: Path) -> None:
    """A run that pauses again waits anew, for the next call."""
    first = loop(BATCH).run("Go.")
    second = loop().resume(first.run_id, confirm=["call_2"], by="ann", trace_id=first.trace_id)
    found = waiting(first.run_id)
    assert found is not None
    assert (found.trace_id, [call.id for call in found.waiting], found.behind) == (second.trace_id, ["call_3"], ())
    assert [(each.id, each.tool, each.state, each.by) for each in found.decided] == [
        ("call_2", "pay", "approved", "ann")
    ]
    assert found.decided[0].at_ns > 0

    result = loop("done").resume(first.run_id, reject=["call_3"])
    assert (result.answer, waiting(first.run_id)) == ("done", None)


def test_an_answer_about_an_earlier_part_of_the_run_is_refused(home: Path) -> None:
    """An id can be used again in a later step: the yes to the earlier call is none to the later one."""
    DONE.clear()
    first = loop(calls(("pay", {"cents": 1}))).run("Go.")
    again = calls(("pay", {"cents": 1000}))
    second = loop(again).resume(first.run_id, confirm=["call_1"])
    assert (second.stop_reason, DONE) == ("confirmation_required", ["1"])

    with pytest.raises(UsageError, match="has gone on since"):
        loop("done").resume(first.run_id, confirm=["call_1"], trace_id=first.trace_id)

    assert DONE == ["1"]
    found = waiting(first.run_id)
    assert found is not None
    assert found.waiting[0].canonical_arguments == '{"cents":1000}'


def test_calls_of_one_turn_wait_together(home: Path) -> None:
    """Reads about which a rule asks are asked about side by side."""
    asking = Policy(rules=[confirm_when(["look"])])
    first = loop(calls(("look", {"n": 1}), ("look", {"n": 2})), policy=asking).run("Go.")
    found = waiting(first.run_id)
    assert found is not None
    assert [call.id for call in found.waiting] == [each.call.id for each in first.pending]
    assert len((*found.waiting, *found.behind)) == 2


def test_a_run_that_died_when_it_was_gone_on_with_still_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was killed before the call was decided: it is shown as it will be once it was recovered, and not changed."""
    store = tmp_path / "store"
    monkeypatch.setenv("TRACED_LOOP_HOME", str(store))
    assert run_python(SHOP + "loop(BATCH, policy=Policy()).run('Go.')", store).code == 0
    killed = """
loop('done', policy=Policy(rules=[lambda proposal: os._exit(9)])).resume('last', confirm=['call_1'])
"""
    assert run_python(SHOP + killed, store).code == 9
    with LocalStore.open() as reader:
        run_id = reader.find("last")
        assert reader.state(run_id) == "died"
        before = sorted((path.name, path.stat().st_size) for path in store.rglob("*") if path.is_file())
        [entry] = reader.unsettled()
        assert (entry.state, reader.that_may_wait([run_id])) == ("died", {run_id})
        found = waiting_run(reader, run_id)
    after = sorted((path.name, path.stat().st_size) for path in store.rglob("*") if path.is_file())
    assert (entry.run_id, before) == (run_id, after)
    assert found is not None
    assert ([call.id for call in found.waiting], [call.id for call in found.behind]) == (["call_1"], ["call_2"])
    code = SHOP + "print(json.dumps(told(loop('done', policy=Policy()).resume('last', confirm=['call_1']))))"
    ended = run_python(code, store)
    assert json.loads(ended.out)[:2] == ["confirmation_required", "id of A"], ended.err
    assert environment(store)["TRACED_LOOP_HOME"] == str(store)


def test_runs_in_which_nothing_can_wait_are_not_among_those_that_may(home: Path) -> None:
    """By the index alone: a run that ended otherwise is left out, and so is one that crashed after its results."""
    paused = loop(BATCH).run("Go.")
    loop("done").run("Go.")
    store = Store.open()
    done = loop("done").run("Go.")
    store.write("UPDATE runs SET stop_reason = 'unknown_after_crash' WHERE run_id = ?", [(done.run_id,)])
    with LocalStore.open() as reader:
        unsettled = [entry.run_id for entry in reader.unsettled()]
        assert sorted(unsettled) == sorted([paused.run_id, done.run_id])
        assert reader.that_may_wait(unsettled) == {paused.run_id}
        assert reader.that_may_wait([]) == set()
        assert waiting_run(reader, done.run_id) is None
        assert waiting_run(reader, "20000101-none") is None


def test_damaged_messages_are_an_error_and_not_nothing(home: Path) -> None:
    """Whoever lists what waits can say that this run could not be read."""
    paused = loop(BATCH).run("Go.")
    Store.open().write("UPDATE messages SET body = '{' WHERE run_id = ?", [(paused.run_id,)])
    with pytest.raises(UsageError, match="damaged"):
        waiting(paused.run_id)


def test_a_write_that_was_begun_after_a_yes_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process was killed in it: another yes would be to what may have happened, which somebody has to find out."""
    store = tmp_path / "store"
    monkeypatch.setenv("TRACED_LOOP_HOME", str(store))
    assert run_python(SHOP + "loop(BATCH, policy=Policy()).run('Go.')", store).code == 0
    goes_on = "loop('done', policy=Policy()).resume('last', confirm=['call_{}'])"
    assert run_python(SHOP + goes_on.format(1), store).code == 0
    assert run_python(SHOP + goes_on.format(2), store, WORDS="die").code == 9
    with LocalStore.open() as reader:
        run_id = reader.find("last")
        assert (reader.state(run_id), waiting_run(reader, run_id)) == ("died", None)
    refused = run_python(SHOP + goes_on.format(2), store)
    assert "no call 'call_2' of the run" in refused.err
    stopped = run_python(SHOP + "print(told(loop('done', policy=Policy()).resume('last'))[0])", store)
    assert stopped.out == "outcome_unknown\n", stopped.err
    assert (tmp_path / "created").read_text() == "A\nB\n"


def test_a_write_that_somebody_found_undone_waits_again_once_it_was_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first yes is used up: it was to the write that was cut off."""
    store = tmp_path / "store"
    monkeypatch.setenv("TRACED_LOOP_HOME", str(store))
    assert run_python(SHOP + "loop(BATCH, policy=Policy()).run('Go.')", store).code == 0
    goes_on = "print(told(loop('done', policy=Policy()).resume('last', confirm={}))[0])"
    assert run_python(SHOP + goes_on.format(["call_1"]), store).code == 0
    assert run_python(SHOP + goes_on.format(["call_2"]), store, WORDS="die").code == 9
    assert run_python(SHOP + goes_on.format([]), store).out == "outcome_unknown\n"
    [row] = open_writes(store)
    resolve_write(store, row, Resolution(state="free", by="ann"))

    asked = run_python(SHOP + goes_on.format([]), store)
    with LocalStore.open() as reader:
        found = waiting_run(reader, reader.find("last"))
    done = run_python(SHOP + goes_on.format(["call_2"]), store)

    assert (asked.out, done.out) == ("confirmation_required\n", "final_answer\n"), done.err
    assert found is not None
    assert [call.id for call in found.waiting] == ["call_2"]


_ODD: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(["id", "text", "x"]), values),
    max_leaves=4,
)


def _with_oddities(data: st.DataObject, value: Any, one_in: int) -> Any:
    """The value with some of its parts taken away or made anything."""
    if data.draw(st.integers(0, one_in)) == one_in:
        return data.draw(_ODD)
    if isinstance(value, dict):
        return {key: _with_oddities(data, part, one_in) for key, part in value.items()}
    return [_with_oddities(data, part, one_in) for part in value] if isinstance(value, list) else value


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_messages_and_spans_of_any_shape_are_told_or_refused(home: Path, data: st.DataObject) -> None:
    """Every page counts what waits: no damage of one run may be an error that nobody expects."""
    run_id = loop(calls(("look", {"n": 1})), BATCH).run("Go.").run_id
    store = Store.open()
    bodies = [body for (body,) in store.read("SELECT body FROM messages WHERE run_id = ? ORDER BY seq", (run_id,))]
    told = [json.dumps(_with_oddities(data, json.loads(body), 20)) for body in bodies]
    store.write(
        "UPDATE messages SET body = ? WHERE run_id = ? AND seq = ?", [(t, run_id, n) for n, t in enumerate(told)]
    )
    [(progress,)] = store.read("SELECT body FROM progress WHERE run_id = ?", (run_id,))
    spent = json.dumps(_with_oddities(data, json.loads(progress), 20))
    store.write("UPDATE progress SET body = ? WHERE run_id = ?", [(spent, run_id)])
    store.close()
    path = home / "spans" / f"{run_id}.otlp.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(_with_oddities(data, line, 200)) + "\n" for line in lines))

    with suppress(UsageError):
        found = waiting(run_id)
        assert found is None or found.waiting
