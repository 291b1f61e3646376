"""Stored runs as JSON values, for programs. Unknown is null."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from traced_loop.amount_text import iso_text
from traced_loop.read.local_store import StoredRun
from traced_loop.read.receipt_counts import resolved_writes
from traced_loop.read.run_entry import RunEntry, utc
from traced_loop.read.trace import Problem, StoredSpan


def listed(run: RunEntry) -> dict[str, Any]:
    """One run of a list: its id and state, when it began, what it came to.

    ``seconds`` is null of a run whose process died, recovered or not: it took ``seconds_at_least``, null of all others.
    """
    return {
        "run_id": run.run_id,
        "stop_reason": run.stop_reason,
        "started_at": iso_text(run.started_at),
        "seconds": run.seconds,
        "steps": run.steps,
        "tokens": run.tokens,
        "cost_usd": None if run.cost_usd is None else float(run.cost_usd),
        "state": run.state,
        "seconds_at_least": run.seconds_at_least,
    }


def run_json(run: StoredRun, problems: Sequence[Problem]) -> dict[str, Any]:
    """One run whole: ``run``, ``spans`` (parents before children), ``problems``, and ``settled_writes``.

    Those are the writes of which the spans do not know what came of them, and the ledger by now does.
    """
    return {
        "run": _entry(run.entry),
        "spans": [_span(span) for _, span in run.trace.walk()],
        "problems": [_problem(problem) for problem in problems],
        "settled_writes": [settled.json() for _, settled in resolved_writes(run)],
    }


def _entry(run: RunEntry) -> dict[str, Any]:
    return {
        **listed(run),
        "trace_id": run.trace_id or None,
        "agent": run.agent or None,
        "model": run.model or None,
        "session_id": run.session_id,
        "ended_at": iso_text(run.ended_at),
        "stop_detail": run.stop_detail,
        "tool_calls": run.tool_calls,
        "flagged": run.flagged,
    }


def _span(span: StoredSpan) -> dict[str, Any]:
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id or None,
        "name": span.name,
        "kind": span.kind,
        "started_at": iso_text(utc(span.start_ns)),
        "start_ns": span.start_ns or None,
        "end_ns": span.end_ns or None,
        "seconds": None if span.duration_ns is None else span.duration_ns / 1e9,
        "open": span.is_open,
        "error": span.is_error,
        "status_message": span.status_message or None,
        "attributes": _plain(span.attributes),
        "links": [
            {"trace_id": link.trace_id, "span_id": link.span_id, "attributes": _plain(link.attributes)}
            for link in span.links
        ],
        "events": [
            {"time_ns": event.time_ns or None, "name": event.name, "attributes": _plain(event.attributes)}
            for event in span.events
        ],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"kind": problem.kind, "text": problem.text, "span_ids": list(problem.span_ids), "line": problem.line}


def _plain(value: object) -> Any:
    """A value that JSON can hold; numbers that it cannot become their names, as in OTLP JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in cast("tuple[object, ...]", value)]
    return value
