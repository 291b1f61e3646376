"""Runs written into a store as files of spans, as another program would leave them: large, odd and hostile ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traced_loop import names
from traced_loop.read.trace import StoredSpan
from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BEGUN = 1_764_500_000_000_000_000
MS = 1_000_000
SECOND = 1_000 * MS
TRACE = "a" * 32


def span(number: int, parent: int | None, start: int, took: int | None, name: str, **more: Any) -> StoredSpan:
    """A span; start and length in nanoseconds after ``BEGUN``, None while it is open."""
    begun = BEGUN + start
    plain = StoredSpan(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id="" if parent is None else f"{parent:016x}",
        name=name,
        start_ns=begun,
        end_ns=0 if took is None else begun + took,
        is_open=took is None,
        scope=names.SCOPE,
    )
    return replace(plain, **more)


def root(took: int | None, **more: Any) -> StoredSpan:
    """The span of a run, with the number 1."""
    attributes = {names.GEN_AI_OPERATION: names.INVOKE_AGENT, names.RUN_STOP_REASON: "final_answer"}
    return span(1, None, 0, took, "invoke_agent written", **{"attributes": attributes, **more})


def stepped_run(steps: int) -> list[StoredSpan]:
    """A run of so many steps of ten spans each, the step included."""
    found = [root(steps * SECOND)]
    for n in range(steps):
        first, at = 2 + n * 10, n * SECOND
        found.append(span(first, 1, at, SECOND, names.STEP, attributes={names.STEP_INDEX: n + 1}))
        for k in range(9):
            name = "chat m" if k == 0 else f"execute_tool look {k}"
            operation = names.CHAT if k == 0 else names.EXECUTE_TOOL
            attributes = {names.GEN_AI_OPERATION: operation, names.STEP_INDEX: n + 1, names.CALL_OUTCOME: "ok"}
            found.append(span(first + 1 + k, first, at + k * 100 * MS, 90 * MS, name, attributes=attributes))
    return found


def wide_run(children: int) -> list[StoredSpan]:
    """A run with so many spans right below its own."""
    below = [span(2 + n, 1, n * MS, MS, f"work {n}") for n in range(children)]
    return [root(children * MS), *below]


def deep_run(depth: int) -> list[StoredSpan]:
    """Each span the child of the one before it."""
    below = [span(2 + n, 1 + n, n, 2 * depth - 2 * n, f"level {n}") for n in range(depth)]
    return [root(2 * depth + 1), *below]


def write_run(store: Path, run_id: str, spans: Iterable[StoredSpan]) -> None:
    """Write a run's files: one of spans that ended and one of those that did not. What was there is written over."""
    folder = store / "spans"
    folder.mkdir(parents=True, exist_ok=True)
    given = list(spans)
    for suffix, wanted in ((ENDED_SUFFIX, False), (OPEN_SUFFIX, True)):
        lines = [_line(each) for each in given if each.is_open is wanted]
        (folder / f"{run_id}{suffix}").write_text("".join(lines), encoding="utf-8")


def _line(each: StoredSpan) -> str:
    raw: dict[str, Any] = {
        "traceId": each.trace_id,
        "spanId": each.span_id,
        "parentSpanId": each.parent_id,
        "name": each.name,
        "startTimeUnixNano": str(each.start_ns),
        "endTimeUnixNano": str(each.end_ns),
        "attributes": [_pair(key, value) for key, value in each.attributes.items()],
        "links": [{"traceId": link.trace_id, "spanId": link.span_id} for link in each.links],
        "events": [
            {
                "timeUnixNano": str(event.time_ns),
                "name": event.name,
                "attributes": [_pair(key, value) for key, value in event.attributes.items()],
            }
            for event in each.events
        ],
        "status": {"code": 2, "message": each.status_message} if each.is_error else {},
    }
    if each.is_open:
        del raw["endTimeUnixNano"]
    scoped = {"scope": {"name": each.scope}, "spans": [raw]}
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [scoped]}]}) + "\n"


def _pair(key: str, value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    return {"key": key, "value": {"stringValue": str(value)}}
