"""The runs that go on, and what each waits for, known from the spans that are open."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from traced_loop import names
from traced_loop.closed_words import WaitsFor
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Decision
from traced_loop.telemetry.span_record import SpanRecord

_WAITS: Final = frozenset({names.CHAT, names.EXECUTE_TOOL, names.AUTHORIZE_CALL})


@dataclass(slots=True)
class _Run:
    """One run: what it waits for, since when, and the tools that have run since the last request."""

    agent: str
    changed: float
    waits: dict[int, tuple[float, SpanRecord]] = field(default_factory=dict[int, tuple[float, SpanRecord]])
    tools: dict[str, None] = field(default_factory=dict[str, None])


@frozen_value
class Wait:
    """What one run waits for.

    Attributes:
        agent: name of the loop.
        waits_for: the longest wait of several, so that each run has one.
        tool: the tool's name, where it waits for one or for a confirmation of its call; else None.
        seconds: how long by now.
    """

    agent: str
    waits_for: WaitsFor
    tool: str | None
    seconds: float


class ActiveRuns:
    """Told of spans as they start and end, in any thread; asked in another one.

    Each step of it is one operation on one dict, so there is no lock: a run never waits for whoever looks.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Know of no run.

        Args:
            monotonic: seconds on a clock that is never set.
        """
        self._monotonic = monotonic
        self._runs: dict[str, _Run] = {}

    def started(self, span: SpanRecord, kind: str) -> None:
        """A span of this kind (its name without what follows the first blank) has begun."""
        if span.root:
            agent = str(span.attributes.get(names.GEN_AI_AGENT_NAME, ""))
            self._runs[span.run_id] = _Run(agent, self._monotonic())
        elif kind in _WAITS and (run := self._runs.get(span.run_id)) is not None:
            run.waits[span.span_id] = (self._monotonic(), span)

    def ended(self, span: SpanRecord, kind: str) -> None:
        """It is complete."""
        if span.root:
            self._runs.pop(span.run_id, None)
            return
        run = self._runs.get(span.run_id)
        if run is None:
            return
        run.changed = self._monotonic()
        if kind in _WAITS:
            run.waits.pop(span.span_id, None)
        if kind == names.EXECUTE_TOOL:
            run.tools[str(span.attributes.get(names.GEN_AI_TOOL_NAME))] = None

    def answered(self, run_id: str) -> tuple[str, ...]:
        """The tools that a request of the run was the answer to; to be asked once for each request."""
        run = self._runs.get(run_id)
        if run is None:
            return ()
        tools = tuple(run.tools)
        run.tools.clear()
        return tools

    def agent_of(self, run_id: str) -> str:
        """The name of the loop whose run it is, or ``""`` where it is over."""
        run = self._runs.get(run_id)
        return "" if run is None else run.agent

    def forget(self) -> None:
        """In a forked child: the runs of the parent are not its own."""
        self._runs.clear()

    def waits(self) -> Iterator[Wait]:
        """What every run waits for now."""
        now = self._monotonic()
        for run in list(self._runs.values()):
            waits_for, tool, since = _longest(run)
            yield Wait(agent=run.agent, waits_for=waits_for, tool=tool, seconds=max(0.0, now - since))


def _longest(run: _Run) -> tuple[WaitsFor, str | None, float]:
    """What, which tool, since when. A span that has ended and is held back waits for nothing any more."""
    still = [(since, span) for since, span in list(run.waits.values()) if not span.end_ns]
    if not still:
        return "loop", None, run.changed
    since, span = min(still, key=lambda wait: wait[0])
    tool = span.attributes.get(names.GEN_AI_TOOL_NAME) or span.attributes.get(names.CALL_TOOL)
    return _what(span), None if tool is None else str(tool), since


def _what(span: SpanRecord) -> WaitsFor:
    if names.CALL_TOOL in span.attributes:
        asks = span.attributes.get(names.POLICY_DECISION) == Decision.NEEDS_CONFIRMATION
        return "confirmation" if asks else "policy"
    return "tool" if names.GEN_AI_TOOL_NAME in span.attributes else "model"
