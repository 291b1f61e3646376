"""The spans of a stored run as lines that any reader of OTLP JSON takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traced_loop.read.local_store import LocalStore
from traced_loop.read.otlp_json import read_lines
from traced_loop.read.span_tree import build
from traced_loop.read.stored_lines import stored_lines
from traced_loop.read.trace import Problem

from ..web.sample_runs import plain_run, stored

if TYPE_CHECKING:
    from pathlib import Path


def span(span_id: str, end: int = 2) -> str:
    """A line with one span."""
    fields = {
        "traceId": "a" * 32,
        "spanId": span_id,
        "name": "x",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": str(end),
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [fields]}]}]}) + "\n"


def test_what_is_taken_along_reads_back_as_what_is_stored(home: Path) -> None:
    """Every span, every attribute, link and time; nothing is wrong with any line."""
    result = plain_run(home)
    problems: list[Problem] = []

    with LocalStore.open(home) as store:
        again = build(list(read_lines(store.span_lines(result.run_id), problems)), problems)
        assert again == store.trace(result.run_id)
    assert problems == []


def test_to_whom_a_span_is_owed_stays_home(home: Path) -> None:
    """That is between this store and its collector; everything else of the line goes along."""
    result = stored(home, ["done"], otlp="http://127.0.0.1:9")
    with LocalStore.open(home) as store:
        lines = list(store.span_lines(result.run_id))
        assert build(list(read_lines(lines, []))) == store.trace(result.run_id)

    assert b"traced_loop.delivery" in (home / "spans" / f"{result.run_id}.otlp.jsonl").read_bytes()
    assert b"traced_loop.delivery" not in b"".join(lines)


def test_a_span_that_never_ended_is_there_by_its_start(tmp_path: Path) -> None:
    """One that did is there once; the starts are still on record while a run goes on."""
    ended, started = tmp_path / "ended", tmp_path / "started"
    started.write_text(span("1", 0) + span("2", 0))
    ended.write_text(span("2"))

    found = list(read_lines(stored_lines((ended, started)), []))

    assert [(each.span_id, each.is_open) for each in found] == [("2", False), ("1", True)]


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    """A reader of the format stops at it; the lines around it go along."""
    path = tmp_path / "ended"
    path.write_bytes(
        span("1").encode() + span("2").encode()[:50] + b"\n" + b'{"no": "span"}\n\xff\xfe\n' + span("3").encode()[:-1]
    )

    lines = list(stored_lines((path, tmp_path / "missing")))

    assert [each.span_id for each in read_lines(lines, [])] == ["1", "3"]
    assert all(line.endswith(b"\n") for line in lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60), st.sampled_from([span("1").encode(), b'{"resourceSpans":[1,{"scopeSpans":{}}]}\n'])
        ),
        max_size=6,
    )
)
def test_every_line_is_a_document_whatever_the_file_holds(tmp_path: Path, pieces: list[bytes]) -> None:
    """Damage is left out, and never fatal."""
    path = tmp_path / "ended"
    path.write_bytes(b"".join(pieces))

    for line in stored_lines((path, path)):
        assert "resourceSpans" in json.loads(line)
