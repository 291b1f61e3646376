"""Spans of large inputs: a run of the real loop, taken again and again, later each time and with ids of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from traced_loop import Price, ScriptedModel, names, tool
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.records.trace_store import ENDED_SUFFIX
from traced_loop.testing import calls, play

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from traced_loop.telemetry.spans import SpanRecord


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


def write_spans(path: Path, spans: Iterable[SpanRecord]) -> int:
    """Write a span file as the store has it, with a summary of 400 characters on each span; how many there are."""
    encoder, number = LineEncoder({"service.name": "svc"}, names.SCOPE, "0"), 0
    with path.open("wb") as lines:
        for span in spans:
            number += 1
            lines.write(encoder.line(replace(span, attributes={**span.attributes, names.ARGS_SUMMARY: "x" * 400})))
    return number


def write_store(folder: Path, runs: int, spans_of_run: int) -> int:
    """Write a store of runs that are alike, without an index; how many spans there are."""
    (folder / "spans").mkdir(parents=True)
    one, number = list(one_long_run(spans_of_run)), 0
    for n in range(runs):
        run_id = f"run-{n:06d}"
        spans = [replace(span, trace_id=n + 1, attributes={**span.attributes, names.RUN_ID: run_id}) for span in one]
        number += write_spans(folder / "spans" / f"{run_id}{ENDED_SUFFIX}", spans)
    return number
