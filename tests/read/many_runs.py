"""Stores with as many runs in their index as a test wants, without running any; and span files that it writes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from traced_loop import names
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.records.process_identity import claimant
from traced_loop.records.store import Store
from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX
from traced_loop.telemetry.span_record import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SECOND = 1_000_000_000
BEGAN = 1_790_000_000 * SECOND
"""When the first run of a store began, unless a test says when."""
GONE = "1:1"
"""A process that is no more."""
COLUMNS: dict[str, Any] = {
    "trace_id": "ab" * 16,
    "agent": "support",
    "model": "gpt-5-mini",
    "session_id": None,
    "started_ns": BEGAN,
    "ended_ns": BEGAN + SECOND,
    "stop_reason": "final_answer",
    "stop_detail": None,
    "steps": 2,
    "tool_calls": 1,
    "tokens": 100,
    "cost_microusd": 1_000,
    "flagged": 0,
    "process": GONE,
}
"""What a run has where a test says nothing else."""
UNENDED: dict[str, Any] = dict.fromkeys(("ended_ns", "stop_reason", "steps", "tool_calls", "tokens", "cost_microusd"))
"""What a run lacks while it has no end."""


def stored(folder: Path, runs: Mapping[str, Mapping[str, Any]]) -> Path:
    """A store with these runs: by id, what is not as in ``COLUMNS``. Each begins a minute after the one before."""
    store = Store.open(folder)
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    rows = [_row(run_id, {**_times(n), **told}) for n, (run_id, told) in enumerate(runs.items())]
    store.write(f"INSERT INTO runs (run_id, {', '.join(COLUMNS)}) VALUES ({marks})", rows)
    store.close()
    return folder


def running(**told: Any) -> dict[str, Any]:
    """A run of this process that goes on."""
    return {**UNENDED, "process": claimant(), **told}


def died(**told: Any) -> dict[str, Any]:
    """A run whose process is gone."""
    return {**UNENDED, "process": GONE, **told}


def many(number: int) -> dict[str, dict[str, Any]]:
    """So many runs of several kinds, the newest of them a minute old."""
    newest = time.time_ns() - 60 * SECOND
    kinds = [("final_answer", "gpt-5-mini", 1_000), ("model_error", "gpt-5", None), ("tool_timeout", "gpt-5", 50_000)]
    found: dict[str, dict[str, Any]] = {}
    for n in range(number):
        reason, model, cost = kinds[n % len(kinds)]
        began = newest - (number - n) * 60 * SECOND
        found[f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(began // SECOND))}-{n:08x}"] = {
            "started_ns": began,
            "ended_ns": began + (n % 90) * SECOND,
            "stop_reason": reason,
            "model": model,
            "cost_microusd": cost,
            "session_id": f"s-{n % 300}",
            "tokens": n,
            "flagged": int(n % 10 == 0),
        }
    return found


def write_spans(folder: Path, run_id: str, spans: Iterable[SpanRecord], *, started: bool = False) -> None:
    """Append spans to a run's file, as the store's own encoder spells them."""
    path = folder / "spans" / f"{run_id}{OPEN_SUFFIX if started else ENDED_SUFFIX}"
    encoder = LineEncoder({"service.name": "test"}, names.SCOPE, "0")
    with path.open("ab") as file:
        for span in spans:
            file.write(encoder.line(span))


def span(name: str, number: int, *, run_id: str = "r", parent: int = 0, ended: bool = True, **told: Any) -> SpanRecord:
    """A span that begins so many seconds after ``BEGAN``; ``told`` are attributes, by the names of the constants."""
    return SpanRecord(
        run_id=run_id,
        trace_id=1,
        span_id=number,
        parent_id=parent,
        name=name,
        kind="INTERNAL",
        start_ns=BEGAN + number * SECOND,
        root=not parent,
        brief=False,
        end_ns=BEGAN + (number + 1) * SECOND if ended else 0,
        attributes={getattr(names, key): value for key, value in told.items()},
    )


def asked(tool: str, number: int = 9, *, parent: int = 1) -> SpanRecord:
    """The validation of a call of a tool."""
    return span(names.VALIDATE_CALL, number, parent=parent, CALL_TOOL=tool)


def _times(n: int) -> dict[str, int]:
    began = BEGAN + n * 60 * SECOND
    return {"started_ns": began, "ended_ns": began + SECOND}


def _row(run_id: str, told: Mapping[str, Any]) -> tuple[Any, ...]:
    return (run_id, *({**COLUMNS, **told}.values()))
