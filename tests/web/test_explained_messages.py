"""Stored runs as lists of explained messages."""

from pathlib import Path
from typing import get_args

import pytest

from traced_loop.read.local_store import LocalStore
from traced_loop.scenarios.demo_runs import demo_runs
from traced_loop.scenarios.lesson_run import lesson_run
from traced_loop.scenarios.sandbox_runs import Mode, sandbox_run
from traced_loop.scenarios.scripted_run import ScriptedRun
from traced_loop.web.explained_messages import Explained, ToldSpan, explained
from traced_loop.web.page_words import LANGUAGES, page_words

ALL = [lesson_run(), *(sandbox_run(mode) for mode in get_args(Mode)), *demo_runs()]


def explain(run: ScriptedRun, store: Path) -> tuple[tuple[Explained, ...], list[str]]:
    """One playing: its parts, and the names of all its spans."""
    result = run.play(store)
    with LocalStore.open(store) as opened:
        trace = opened.run(result.run_id).trace
        return explained(opened.messages(result.run_id).messages, trace), [span.name for span in trace.spans]


def test_the_lesson_is_told_in_the_order_of_the_protocol(tmp_path: Path) -> None:
    """Each message, between calls and results what was decided, the end last."""
    parts, _ = explain(lesson_run(), tmp_path)
    assert [part.kind for part in parts] == [
        "instructions",
        "question",
        "calls",
        "decisions",
        "result",
        "result",
        "answer",
        "end",
    ]
    calls, decisions, first, second, answer, end = parts[2:]
    assert calls.values == {"count": 2, "finish_reason": "tool_calls"}
    assert decisions.values == {"count": 2, "allowed": 2}
    assert [part.values for part in (first, second)] == [
        {"call_id": "call_1", "number": 1},
        {"call_id": "call_2", "number": 2},
    ]
    assert answer.values["finish_reason"] == "stop"
    assert end.values == {"stop_reason": "final_answer", "spans": 17}


def test_each_message_names_its_spans(tmp_path: Path) -> None:
    """By name, with the call or the phase that they are about."""
    parts, _ = explain(lesson_run(), tmp_path)
    told = {part.kind: part.spans for part in parts}
    assert told["question"] == (ToldSpan(name="invoke_agent lesson"),)
    assert told["calls"] == (
        ToldSpan(name="traced_loop.check_budget", about="request"),
        ToldSpan(name="traced_loop.step"),
        ToldSpan(name="chat scripted"),
    )
    assert told["decisions"][2:] == (
        ToldSpan(name="traced_loop.authorize_call", about="call_1"),
        ToldSpan(name="traced_loop.authorize_call", about="call_2"),
        ToldSpan(name="traced_loop.check_budget", about="batch"),
    )
    assert parts[4].spans == (ToldSpan(name="execute_tool search_docs", about="call_1"),)


@pytest.mark.parametrize("run", ALL, ids=lambda run: run.title)
def test_every_span_belongs_to_one_message(run: ScriptedRun, tmp_path: Path) -> None:
    """None is left out, none is told twice, of good runs and bad ones."""
    parts, names = explain(run, tmp_path)
    assert sorted(span.name for part in parts for span in part.spans) == sorted(names)


@pytest.mark.parametrize("run", ALL[:3], ids=lambda run: run.title)
def test_two_playings_are_explained_alike(run: ScriptedRun, tmp_path: Path) -> None:
    """No id of a run or span, no time, no fingerprint is in it, also not of another store's key."""
    assert explain(run, tmp_path / "one")[0] == explain(run, tmp_path / "two")[0]


def test_a_call_that_did_not_run_is_told_as_refused(tmp_path: Path) -> None:
    """Its decision says by which code; the answered id is that of the call."""
    parts, _ = explain(sandbox_run("unknown_tool"), tmp_path)
    assert [part.kind for part in parts] == ["question", "calls", "decisions", "refusal", "end"]
    assert '"traced_loop.validation.error_code": "unknown_tool"' in parts[2].raw
    assert parts[2].values == {"count": 1, "allowed": 0}


def test_what_the_loop_says_is_no_question(tmp_path: Path) -> None:
    """The nudge has the user's role and is told as the loop's own."""
    parts, _ = explain(sandbox_run("loop_forever"), tmp_path)
    assert [part.kind for part in parts].count("question") == 1
    assert [part.kind for part in parts].count("notice") == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("run", ALL, ids=lambda run: run.title)
def test_there_are_words_for_each_part(run: ScriptedRun, language: str, tmp_path: Path) -> None:
    """In each language, with all that they name."""
    t = page_words(language)
    for part in explain(run, tmp_path)[0]:
        assert t(f"lab.part.{part.kind}.title", **part.values)
        assert t(f"lab.part.{part.kind}.text", **part.values)
