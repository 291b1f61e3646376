"""Runs of a store chosen and cut into pages: from the index, from files beside it, and without any index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.errors import UsageError
from traced_loop.models.scripted import calls
from traced_loop.read import run_list
from traced_loop.read.run_choice import RunChoice
from traced_loop.read.run_list import ChosenRuns, RunList
from traced_loop.records.store import Store

from ..processor_time import references
from .many_runs import BEGAN, SECOND, asked, died, many, running, span, stored, write_spans

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.read.run_entry import RunEntry

ROOT = {"GEN_AI_OPERATION": names.INVOKE_AGENT, "GEN_AI_AGENT_NAME": "lost", "RUN_STOP_REASON": "refused"}


def chosen(folder: Path, **choice: Any) -> list[RunEntry]:
    """The entries of one choice."""
    return list(RunList(folder).look().choose(RunChoice(**choice)).entries)


def test_a_store_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    """And none is made."""
    look = RunList(tmp_path / "none").look()
    assert (look.count(), look.choose(RunChoice()).entries, look.names().models) == (0, (), ())
    assert not (tmp_path / "none").exists()


def test_a_path_that_is_no_folder_is_told(tmp_path: Path) -> None:
    """As everywhere."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no folder"):
        RunList(tmp_path / "file").look()


def test_the_entries_are_those_that_the_list_of_the_command_line_has(home: Path) -> None:
    """Field by field, for a run that was really run."""

    @tool(effect="read")
    def look(text: str) -> str:
        """Look."""
        return text

    script = [calls(("look", {"text": "a"})), calls(("look", {"text": "a"})), "done"]
    for name in ("one", "two"):
        Loop(ScriptedModel(script), [look], name=name, session_id="s").run("go")

    with run_list.LocalStore.open(home) as store:
        assert chosen(home) == store.runs()


def test_parts_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    """A part behind the end is the last one."""
    runs = RunList(stored(tmp_path, {f"r{n}": {} for n in range(7)}))
    look = runs.look()
    parts = [look.choose(RunChoice(first=first, most=3)) for first in (0, 3, 6, 9, 10**9)]

    assert [[entry.run_id for entry in part.entries] for part in parts] == [
        ["r6", "r5", "r4"],
        ["r3", "r2", "r1"],
        ["r0"],
        ["r0"],
        ["r0"],
    ]
    assert [part.first for part in parts] == [0, 3, 6, 6, 6]
    assert {part.sums.runs for part in parts} == {7}


def test_a_run_that_goes_on_is_found_by_what_its_files_say(tmp_path: Path) -> None:
    """What it is at, what it spent, and its tools; its line in the index has none of that."""
    stored(tmp_path, {"r": running(), "old": {}})
    chat = span("chat m", 3, parent=2, GEN_AI_OPERATION=names.CHAT, GEN_AI_INPUT_TOKENS=7, GEN_AI_OUTPUT_TOKENS=1)
    write_spans(tmp_path, "r", [chat, asked("look", 4, parent=2)])
    begun = [span("invoke_agent a", 1, ended=False, GEN_AI_OPERATION=names.INVOKE_AGENT)]
    begun += [span(names.STEP, 2, parent=1, ended=False), span("execute_tool look", 5, parent=2, ended=False)]
    write_spans(tmp_path, "r", begun, started=True)

    [entry] = chosen(tmp_path, tools=frozenset({"look"}))

    assert (entry.run_id, entry.state, entry.tokens) == ("r", "running", 8)
    assert entry.open_span is not None
    assert entry.open_span.name == "execute_tool look"


def test_a_run_that_ends_between_two_looks_is_there_once(tmp_path: Path) -> None:
    """One look answers all of its questions alike."""
    stored(tmp_path, {"r": running()})
    look = RunList(tmp_path).look()
    store = run_list.LocalStore.open(tmp_path)
    assert store.rows("SELECT count(*) FROM runs") == [(1,)]
    writer = Store.open(tmp_path)
    writer.write("UPDATE runs SET ended_ns = ?, stop_reason = 'refused'", [(BEGAN,)])
    writer.close()

    assert [entry.state for entry in look.choose(RunChoice()).entries] == ["running"]
    assert look.count() == 1
    assert [entry.stop_reason for entry in chosen(tmp_path)] == ["refused"]


def test_runs_that_the_index_lacks_are_shown_from_their_files(tmp_path: Path) -> None:
    """The newest ones; of the others the number is told."""
    stored(tmp_path, {"20260101T000000-a": {}})
    for n in range(run_list.MOST_UNINDEXED + 2):
        write_spans(tmp_path, f"20260202T{n:06}-b", [span("invoke_agent a", 1, **ROOT)])

    look = RunList(tmp_path).look()

    found = look.choose(RunChoice(agents=frozenset({"lost"}), stop_reasons=frozenset({"refused"})))
    assert (found.sums.runs, look.unread) == (run_list.MOST_UNINDEXED, 2)
    assert found.entries[0].run_id == f"20260202T{run_list.MOST_UNINDEXED + 1:06}-b"
    assert look.count() == run_list.MOST_UNINDEXED + 1


def test_a_damaged_index_is_told_and_the_files_are_shown_without_it(tmp_path: Path) -> None:
    """Filtered and added up all the same."""
    stored(tmp_path, {"20260101T000000-a": {}})
    write_spans(tmp_path, "20260202T000000-b", [span("invoke_agent a", 1, **ROOT), asked("look", 2)])
    for path in tmp_path.glob("store.db*"):
        path.write_bytes(b"this is no database, and long enough to be looked at" * 100)

    look = RunList(tmp_path).look()

    [problem] = look.problems
    assert "cannot be read" in problem.text or "damaged" in problem.text
    assert look.names().tools == ("look",)
    found = look.choose(RunChoice(tools=frozenset({"look"})))
    assert [(entry.run_id, entry.stop_reason) for entry in found.entries] == [("20260202T000000-b", "refused")]


def test_files_with_names_of_no_run_are_left_alone(tmp_path: Path) -> None:
    """Whatever somebody put into the folder."""
    stored(tmp_path, {"r": {}})
    for name in ("a b", "\u202e", "x" * 240, "<b>"):
        (tmp_path / "spans" / f"{name}.otlp.jsonl").touch()
    (tmp_path / "spans" / "notes.txt").touch()
    assert [entry.run_id for entry in chosen(tmp_path)] == ["r"]


def test_text_that_no_database_holds_is_shown_all_the_same(tmp_path: Path) -> None:
    """Half a character in a file that the index lacks, and a count that no integer holds."""
    stored(tmp_path, {"a": {}})
    write_spans(tmp_path, "b", [span("invoke_agent a", 1, **{**ROOT, "RUN_TOKENS": 3})])
    path = tmp_path / "spans" / "b.otlp.jsonl"
    odd = path.read_text().replace('"lost"', '"lo\\ud800st"').replace('"intValue":"3"', f'"intValue":"{10**30}"')
    path.write_text(odd)

    [entry] = chosen(tmp_path, stop_reasons=frozenset({"refused"}))

    assert entry.agent.startswith("lo")
    assert entry.tokens is None


def test_what_can_be_chosen_from_is_what_occurs(tmp_path: Path) -> None:
    """Sorted without regard to case; the sessions of the newest runs first."""
    stored(
        tmp_path,
        {
            "a": {"model": "b", "agent": "", "session_id": "old"},
            "b": {"model": "C", "agent": "z", "session_id": "new"},
            "c": died(model="a", agent="Y", session_id=None),
        },
    )
    write_spans(tmp_path, "a", [asked("look")])
    write_spans(tmp_path, "c", [asked("put")])

    found = RunList(tmp_path).look().names()

    assert (found.models, found.agents, found.sessions) == (("a", "b", "C"), ("Y", "z"), ("new", "old"))
    assert found.tools == ("look", "put")


def test_tools_of_old_runs_are_looked_up_once_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that only the newest runs are looked at; of none twice."""
    read: list[str] = []
    real = run_list.called_tools

    def counted(files: tuple[Path, ...]) -> frozenset[str]:
        read.append(files[0].name.partition(".")[0])
        return real(files)

    monkeypatch.setattr(run_list, "called_tools", counted)
    monkeypatch.setattr(run_list, "MOST_TOOL_RUNS", 1)
    stored(tmp_path, {"old": {}, "new": {}})
    write_spans(tmp_path, "old", [asked("put")])
    write_spans(tmp_path, "new", [asked("look")])
    runs = RunList(tmp_path)

    assert runs.look().names().tools == ("look",)
    assert read == ["new"]
    assert runs.look().names(every_tool=True).tools == ("look", "put")
    assert [e.run_id for e in runs.look().choose(RunChoice(tools=frozenset({"put"}))).entries] == ["old"]
    assert read == ["new", "old"]


def test_that_a_process_is_gone_is_seen_although_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked once in a while, whoever asks; runs that have ended are not asked about."""
    stored(tmp_path, {"ended": {}, "goes-on": running()})
    runs = RunList(tmp_path)
    before = runs.states()
    assert runs.state("goes-on") == "running"
    writer = Store.open(tmp_path)
    writer.write("UPDATE runs SET process = '1:1'", [()])
    writer.close()
    assert runs.states() == before

    monkeypatch.setattr(run_list, "STATES_SECONDS", 0.0)
    runs = RunList(tmp_path)
    gone = runs.states()
    assert gone != before
    assert [runs.state(name) for name in ("goes-on", "ended", "no-such-run")] == ["died", "", ""]
    writer.write("UPDATE runs SET agent = 'other'", [()])
    assert runs.states() == gone
    writer.write("UPDATE runs SET ended_ns = 1", [()])
    writer.close()
    assert runs.states() not in {before, gone}


def test_a_run_that_was_resumed_has_the_tools_of_its_later_part(tmp_path: Path) -> None:
    """It has another end, so its file is looked at again."""
    stored(tmp_path, {"r": {}})
    write_spans(tmp_path, "r", [asked("look")])
    runs = RunList(tmp_path)
    assert runs.look().names().tools == ("look",)
    write_spans(tmp_path, "r", [asked("put", 20)])
    writer = Store.open(tmp_path)
    writer.write("UPDATE runs SET ended_ns = ended_ns + ?", [(SECOND,)])
    writer.close()
    assert runs.look().names().tools == ("look", "put")


def test_ten_thousand_runs_are_chosen_from_in_a_moment(tmp_path: Path) -> None:
    """A look, the names, the sums and a page: none of it looks at each run's own file, or at each two runs."""
    folder = stored(tmp_path, many(10_000))

    def chosen() -> ChosenRuns:
        look = RunList(folder).look()
        look.names()
        return look.choose(RunChoice(order="cost", first=5_000))

    assert references(chosen) < 250
    found = chosen()
    assert (found.sums.runs, len(found.entries)) == (10_000, 50)
