"""The tools that a run asked for, out of the bytes of its file: the same that its spans tell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.models.scripted import calls
from traced_loop.read.called_tools import called_tools
from traced_loop.read.local_store import LocalStore
from traced_loop.read.recorded_run import recorded_run
from traced_loop.read.run_files import run_files

if TYPE_CHECKING:
    from pathlib import Path


@tool(effect="read")
def look(text: str) -> str:
    """Look."""
    return text


@tool(effect="read")
def never(text: str) -> str:
    """Look elsewhere."""
    return text


def test_it_finds_what_the_spans_tell_also_of_calls_that_did_not_run(home: Path) -> None:
    """A name that is not registered is ``_unknown``; a tool that was only offered is not there."""
    script = [calls(("look", {"text": "a"}), ("look", {"wrong": 1})), calls(("invented", {})), "done"]
    run_id = Loop(ScriptedModel(script), [look, never]).run("go").run_id

    with LocalStore.open(home) as store:
        told = recorded_run(store.trace(run_id)).tools

    assert called_tools(run_files(home / "spans", run_id)) == told == {"look", names.UNKNOWN_TOOL}


def test_text_of_a_tool_that_looks_like_a_name_is_none(home: Path) -> None:
    """Content is recorded here, and the result spells the very bytes that are looked for."""
    lie = f'{{"key":"{names.CALL_TOOL}","value":{{"stringValue":"refund"}}}}'
    run = Loop(ScriptedModel([calls(("look", {"text": lie})), lie]), [look], content="full").run(lie)

    path = home / "spans" / f"{run.run_id}.otlp.jsonl"
    assert b"refund" in path.read_bytes()
    assert called_tools([path]) == {"look"}


@pytest.mark.parametrize("name", ["odd", "none", "pipe", "folder", "a\0b"])
def test_a_file_that_is_not_there_or_holds_nothing_of_the_kind_has_none(tmp_path: Path, name: str) -> None:
    """Nor bytes that are no text; a pipe is not waited for."""
    (tmp_path / "odd").write_bytes(b'\xff\x00"traced_loop.call.tool","value":{"stringValue":"\xff"}\n{')
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert called_tools([tmp_path / name]) == frozenset()
