"""The messages of a run on a page of their own."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from traced_loop.read.span_tree import build
from traced_loop.records.store import FILE

from .bare_pages import bare_pages, site_of
from .sample_runs import HOSTILE, LARGE, doubtful_run, hostile_run, plain_run
from .written_runs import MS, root, write_run

if TYPE_CHECKING:
    from pathlib import Path


def test_hostile_text_is_text(home: Path) -> None:
    """Markup is shown as such; what a terminal or an eye could be led astray by is written out."""
    run = hostile_run(home)

    answer = bare_pages(home).get(f"/runs/{run.run_id}/messages")

    assert "<script>document" not in answer.text
    assert "<img src=x" not in answer.text
    assert "&lt;script&gt;document" in answer.text
    assert "\\x1b[31mred\\u202egnp.exe\\u2066 {{7*7}}" in answer.text
    assert not {"\x1b", "\u202e", "\u2066"} & set(answer.text)


def test_a_result_of_megabytes_is_a_link_to_the_whole_text(home: Path) -> None:
    """The page says how large it is, and stays small itself; the text on its own is as harmless."""
    run = hostile_run(home)
    pages = bare_pages(home)

    answer = pages.get(f"/runs/{run.run_id}/messages")
    whole = pages.get(f"/runs/{run.run_id}/messages/4/0")

    assert len(answer.content) < 40_000
    assert f'href="/runs/{run.run_id}/messages/4/0"' in answer.text
    assert f"{len(run.messages[3]['content']):,} characters" in answer.text
    assert len(whole.text) >= LARGE
    assert "&lt;script&gt;document" in whole.text
    assert "<script>document" not in whole.text
    assert not {"\x1b", "\u202e"} & set(whole.text)


def test_a_call_leads_to_the_span_that_tells_its_outcome(home: Path) -> None:
    """In the page of the run."""
    run = doubtful_run(home)

    answer = bare_pages(home).get(f"/runs/{run.run_id}/messages")

    assert len(re.findall(rf'href="/runs/{run.run_id}\?span=(\w+)#span-\1"', answer.text)) == 2
    assert answer.text.count('<span class="tag bad"><span aria-hidden="true">✕</span> unknown</span>') == 1


def test_spans_that_were_read_a_moment_ago_are_read_again_only_when_they_changed(home: Path) -> None:
    """Here none are known of the run as it is, until it is another."""
    run = plain_run(home)
    pages = bare_pages(home)
    site = site_of(pages)
    site.recent.keep(run.run_id, site.stamp(f"run:{run.run_id}"), build([]))

    before = pages.get(f"/runs/{run.run_id}/messages").text
    write_run(home, run.run_id, [root(MS)])
    after = site.stamp(f"run:{run.run_id}")
    pages.get(f"/runs/{run.run_id}/messages")

    assert "found a found a" in before
    assert "#span-" not in before
    assert [span.name for span in site.recent.get(run.run_id, after, lambda: build([])).spans] == [
        "invoke_agent written"
    ]


def test_a_text_that_is_not_there_is_not_found(home: Path) -> None:
    """Nor is a number that no transcript has."""
    run = plain_run(home)
    pages = bare_pages(home)

    for place, number in ((1, 7), (99, 0), (0, 0), ("9" * 30, 0)):
        assert pages.get(f"/runs/{run.run_id}/messages/{place}/{number}").status_code == 404
    assert pages.get(f"/runs/{run.run_id}/messages?from=9999999999999").status_code == 200
    assert pages.get(f"/runs/{run.run_id}/messages?from=-1").status_code == 200


def test_messages_that_cannot_be_read_are_said(home: Path) -> None:
    """The page is there all the same."""
    run = plain_run(home)
    with closing(sqlite3.connect(home / FILE)) as database, database:
        database.execute("UPDATE messages SET body = '{broken' WHERE seq = 1")

    answer = bare_pages(home).get(f"/runs/{run.run_id}/messages")

    assert answer.status_code == 200
    assert "cannot be read" in answer.text


def test_the_page_is_in_the_readers_language(home: Path) -> None:
    """What models and tools say stays as it is."""
    run = plain_run(home)

    answer = bare_pages(home, language="zh-CN").get(f"/runs/{run.run_id}/messages")

    assert "<h1>消息</h1>" in answer.text
    assert "found a found a" in answer.text
    assert HOSTILE not in answer.text
