"""Runs of the real loop on a counted clock, stored and read again as any reader gets them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traced_loop import names
from traced_loop.public_loop import Loop
from traced_loop.read.otlp_json import read_lines
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.testing import CountedClock, CountedIds, ScriptedModel, Spans, counted_wiring, play

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from traced_loop.models.scripted import Line
    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.trace import Problem, StoredSpan
    from traced_loop.telemetry.spans import SpanRecord

MS = 1_000_000
"""A reading of the counted clock: nanoseconds."""
SECOND = 1_000_000_000


def stored_spans(records: Iterable[SpanRecord]) -> list[StoredSpan]:
    """Spans by way of the lines that the store has."""
    encoder = LineEncoder({}, names.SCOPE, "0")
    problems: list[Problem] = []
    spans = list(read_lines([encoder.line(record) for record in records], problems))
    assert problems == []
    return spans


def stored_run(spans: Spans) -> AgentRun:
    """The run of these spans, those that are open included."""
    return our_run(build(stored_spans([*spans.ended_spans, *spans.open])))


def played_run(script: Sequence[Line], tools: Sequence[Any] = (), **options: Any) -> AgentRun:
    """A run to its end, as it is read from its store; see ``play``."""
    return stored_run(play(script, tools, **options).spans)


class Killed(SystemExit):
    """Stands for the end of the process: nothing after it is recorded."""


class SpansUntilKilled(Spans):
    """A store whose process is gone from some moment on."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = False

    def started(self, span: SpanRecord) -> None:
        """See ``Sink.started``."""
        if not self.gone:
            super().started(_copy(span))

    def ended(self, span: SpanRecord) -> None:
        """See ``Sink.ended``."""
        if not self.gone:
            self.open = [other for other in self.open if other.span_id != span.span_id]
            self.ended_spans.append(span)


def killed_run(script: Sequence[Line], tools: Sequence[Any], spans: SpansUntilKilled, **options: Any) -> AgentRun:
    """A run that is left by ``Killed``, which a tool raises after it has set ``spans.gone``."""
    ids = CountedIds()
    clock = options.pop("clock", CountedClock())
    loop = Loop(ScriptedModel(script), tools, wiring=counted_wiring(spans, clock, ids), ids=ids, **options)
    with suppress(Killed):
        loop.run("Go.")
    return stored_run(spans)


def _copy(span: SpanRecord) -> SpanRecord:
    """A start as it was written: what is set later is not in it."""
    return replace(span, attributes=dict(span.attributes))
