"""A run to take along."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from traced_loop.read.local_store import LocalStore
from traced_loop.read.otlp_json import read_lines
from traced_loop.read.span_tree import build
from traced_loop.read.trace import Problem

from ..command_line import traced_loop
from .bare_pages import bare_pages
from .sample_runs import HOSTILE, doubtful_run, stored

if TYPE_CHECKING:
    from pathlib import Path


def test_the_json_is_what_the_command_prints(home: Path) -> None:
    """Without the messages unless they are asked for: they are content."""
    run = stored(home, [HOSTILE], HOSTILE)
    pages = bare_pages(home)

    plain, whole = pages.get(f"/runs/{run.run_id}.json"), pages.get(f"/runs/{run.run_id}.json?messages=1")

    assert plain.headers["content-type"] == "application/json"
    assert plain.headers["content-disposition"] == f'attachment; filename="{run.run_id}.json"'
    assert plain.json() == traced_loop("show", run.run_id, "--json", "--store", str(home)).json
    assert "document.title" not in plain.text
    assert [message["content"] for message in whole.json()["messages"]][-1] == HOSTILE


def test_the_lines_read_back_as_the_stored_trace(home: Path) -> None:
    """By the reader of the format, without a problem."""
    run = doubtful_run(home)

    answer = bare_pages(home).get(f"/runs/{run.run_id}.otlp.jsonl")

    problems: list[Problem] = []
    again = build(list(read_lines(answer.content.splitlines(keepends=True), problems)), problems)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.run_id}.otlp.jsonl"'
    with LocalStore.open(home) as store:
        assert again == store.trace(run.run_id)
    assert problems == []


def test_a_text_that_has_no_form_in_utf8_is_kept_as_it_is(home: Path) -> None:
    """JSON can say it."""
    run = stored(home, ["lone \ud83e surrogate"])

    answer = bare_pages(home).get(f"/runs/{run.run_id}.json?messages=1")

    assert json.loads(answer.text)["messages"][-1]["content"] == run.messages[-1]["content"]
