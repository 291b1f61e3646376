"""The spans that other packages made of one scripted scenario, and the runs that are read out of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.agent_runs import agent_runs
from traced_loop.read.otlp_json import read_document
from traced_loop.read.trace import Problem, StoredSpan, StoredTrace

FIXTURES = Path(__file__).parent / "fixtures"


def recorded_spans(name: str) -> list[StoredSpan]:
    """The spans of a fixture, by the name of its package and its version."""
    problems: list[Problem] = []
    spans = list(read_document(json.loads((FIXTURES / f"{name}.json").read_text()), problems))
    assert problems == []
    return spans


def recorded_run(name: str) -> AgentRun:
    """The one run of a fixture."""
    [run] = agent_runs(recorded_spans(name), our_run=never)
    return run


def moved(spans: list[StoredSpan], by_ns: int) -> list[StoredSpan]:
    """The same spans at another time."""
    return [
        replace(
            span,
            start_ns=span.start_ns + by_ns,
            end_ns=span.end_ns + by_ns,
            events=tuple(replace(event, time_ns=event.time_ns + by_ns) for event in span.events),
        )
        for span in spans
    ]


def never(trace: StoredTrace) -> AgentRun:
    """Stands where our own traces would be read, in tests that have none."""
    raise AssertionError(trace)
