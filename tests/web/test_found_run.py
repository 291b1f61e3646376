"""The run that an address means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop.web.found_run import MAX_CANDIDATES, address_of, file_name

from .bare_pages import bare_pages
from .sample_runs import plain_run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_beginning_of_an_id_leads_to_the_whole_one(home: Path) -> None:
    """So does ``last``, and the trace's id; what stands behind it in the address stays."""
    run = plain_run(home)
    pages = bare_pages(home)

    for name in (run.run_id[:-1], "last", run.trace_id, run.trace_id[:10]):
        answer = pages.get(f"/runs/{name}/messages?from=3")
        assert (answer.status_code, answer.headers["location"]) == (307, f"/runs/{run.run_id}/messages?from=3")
        answer = pages.get(f"/runs/{name}/spans/~0?part=1")
        assert answer.headers["location"] == f"/runs/{run.run_id}/spans/~0?part=1"
    assert pages.get("/runs/last.json").headers["location"] == f"/runs/{run.run_id}.json"


@pytest.mark.parametrize(
    "below", ["", "/findings", "/messages", "/messages/1/0", "/rows", "/spans", "/spans/~0", ".json", ".otlp.jsonl"]
)
def test_an_unknown_run_says_how_to_list_those_there_are(home: Path, below: str) -> None:
    """Under every address of a run; what was asked for is shown as text."""
    plain_run(home)

    answer = bare_pages(home).get(f"/runs/<script>x{below}")

    assert answer.status_code == 404
    assert "&lt;script&gt;x" in answer.text
    assert "<script>x" not in answer.text
    assert "traced-loop runs" in answer.text


def test_an_empty_store_says_what_to_run(home: Path) -> None:
    """``last`` of nothing."""
    answer = bare_pages(home).get("/runs/last")

    assert answer.status_code == 404
    assert "traced-loop demo" in answer.text


def test_a_beginning_that_fits_several_lists_them(home: Path) -> None:
    """The newest first, each as a link; of too many the rest is counted."""
    spans = home / "spans"
    spans.mkdir(parents=True)
    for n in range(MAX_CANDIDATES + 3):
        (spans / f"run-{n:03d}.otlp.jsonl").write_text("")
    (spans / "run-no id.otlp.jsonl").write_text("")  # no run that we have named

    answer = bare_pages(home).get("/runs/run-")

    assert answer.status_code == 404
    assert answer.text.count('<a href="/runs/run-') == MAX_CANDIDATES
    assert answer.text.index("run-052") < answer.text.index("run-051")
    assert 'href="/runs/run-052"' in answer.text
    assert "no id" not in answer.text
    assert "and 3 more" in answer.text


@pytest.mark.parametrize(
    ("run_id", "name"),
    [("20261130T1-ab", "20261130T1-ab.json"), ('a"; x=\r\n/../b', "a___x____.._b.json"), ("über", "_ber.json")],
)
def test_a_file_name_holds_nothing_that_means_something(run_id: str, name: str) -> None:
    """Neither to a header nor to a file system."""
    assert file_name(run_id, ".json") == name


def test_an_id_is_one_part_of_an_address() -> None:
    """Whatever is in it."""
    assert address_of("a/b?c#d %", "/messages") == "/runs/a%2Fb%3Fc%23d%20%25/messages"
