"""A file of fifty thousand spans is diagnosed in seconds, and the report is short."""

from __future__ import annotations

import resource
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from traced_loop import Price, ScriptedModel, names, tool
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.testing import calls, play

from ..command_line import PROGRAM
from ..nightly import NIGHTLY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from traced_loop.telemetry.spans import SpanRecord

SPANS = 50_000 if NIGHTLY else 2_000
WITHIN_SECONDS = 30
WITHIN_BYTES = 2 * 2**30
MOST_LINES = 200


@tool(effect="read")
async def look(name: str) -> str:
    """Looks."""
    return name * 40


def one_run() -> list[SpanRecord]:
    """The spans of a run of two steps."""
    model = ScriptedModel([calls(*[("look", {"name": "a"})] * 3), "done"], price=Price(input=1, output=2))
    return play([], [look], model=model).spans.ended_spans


def many_runs(count: int) -> Iterator[SpanRecord]:
    """Runs one after the other."""
    made = one_run()
    for n in range(count // len(made)):
        for span in made:
            attributes = {**span.attributes, names.RUN_ID: f"run-{n:06d}"}
            yield _moved(replace(span, trace_id=n + 1, attributes=attributes), n, len(made))


def one_long_run(count: int) -> Iterator[SpanRecord]:
    """One run of as many steps as fit, each like the first one."""
    made = one_run()
    [root] = [span for span in made if span.root]
    first = next(span for span in made if span.attributes.get(names.STEP_INDEX) == 1 and span.name == names.STEP)
    inside = [first, *(span for span in made if span.parent_id == first.span_id)]
    steps = count // len(inside)
    for n in range(steps):
        for span in inside:
            index = {names.STEP_INDEX: n + 1} if names.STEP_INDEX in span.attributes else {}
            tokens = {names.GEN_AI_INPUT_TOKENS: 100 + 80 * n} if span.name.startswith(names.CHAT) else {}
            yield _moved(replace(span, attributes={**span.attributes, **index, **tokens}), n, len(made), root.span_id)
    yield replace(root, end_ns=root.end_ns + steps * 100_000_000)


def _moved(span: SpanRecord, n: int, spans: int, root: int = -1) -> SpanRecord:
    """The span later, with ids of its own; the root keeps its."""
    later, ids = n * 100_000_000, n * spans
    parent = span.parent_id if span.parent_id in {0, root} else span.parent_id + ids
    return replace(
        span, span_id=span.span_id + ids, parent_id=parent, start_ns=span.start_ns + later, end_ns=span.end_ns + later
    )


@pytest.mark.parametrize("kind", [many_runs, one_long_run])
def test_a_large_file_is_diagnosed_in_seconds(kind: object, tmp_path: Path) -> None:
    """Counts instead of lists, within bounds of time and memory."""
    path, encoder = tmp_path / "large.jsonl", LineEncoder({"service.name": "svc"}, names.SCOPE, "0")
    padding = {names.ARGS_SUMMARY: "x" * 400}
    with path.open("wb") as lines:
        for span in kind(SPANS):  # type: ignore[operator]
            lines.write(encoder.line(replace(span, attributes={**span.attributes, **padding})))

    began = time.monotonic()
    ended = subprocess.run([PROGRAM, "diagnose", str(path)], capture_output=True, text=True, check=False, timeout=120)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert time.monotonic() - began < WITHIN_SECONDS
    assert len(ended.stdout.splitlines()) < MOST_LINES
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < WITHIN_BYTES
