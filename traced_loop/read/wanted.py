"""Which runs are wanted out of a source, and since when."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.trace import StoredSpan
from traced_loop.read.unreadable import Unreadable

MIN_PREFIX: Final = 8
"""So many characters of a run's id, or of a trace's, are enough."""
_AGO: Final = re.compile(r"(\d{1,6})\s*(s|m|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@frozen_value
class Wanted:
    """None stands for any.

    Attributes:
        run: a run's id, or its beginning from ``MIN_PREFIX`` characters on.
        trace: likewise of a trace, hexadecimal.
        service: ``service.name`` of the resource.
        since: runs that began then or later; has a time zone.
    """

    run: str | None = None
    trace: str | None = None
    service: str | None = None
    since: datetime | None = None

    def takes_span(self, span: StoredSpan) -> bool:
        """Whether a span can belong to a wanted run, by the trace alone: where a run is, is not known of one span."""
        return self.trace is None or _begins(span.trace_id, self.trace.lower())

    def takes(self, run: AgentRun) -> bool:
        """Whether the run is wanted: asked of every run, whatever the source was asked for."""
        spans = run.trace.spans
        if self.run is not None and not _begins(run.id, self.run) and not self._is_run_of(run):
            return False
        if self.trace is not None and not any(self.takes_span(span) for span in spans):
            return False
        if self.service is not None and all(span.resource.get("service.name") != self.service for span in spans):
            return False
        # A run without any time may be as young as any.
        return self.since is None or not run.start_ns or run.start_ns >= self.since.timestamp() * 1e9

    def _is_run_of(self, run: AgentRun) -> bool:
        return any(span.attributes.get(names.RUN_ID) == self.run for span in run.trace.spans)


def since(text: str, now: datetime) -> datetime | Unreadable:
    """A time that somebody writes: ``90s``, ``30m``, ``6h``, ``2d``, ``1w`` ago, or a date, with a time or without.

    Args:
        text: a date without a zone is UTC.
        now: with a zone.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        return Unreadable(text=f"{text[:60]!r} is no time: write 30m, 6h, 2d or a date like 2026-11-30T08:00")
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _begins(identifier: str, text: str) -> bool:
    return identifier == text or (len(text) >= MIN_PREFIX and identifier.startswith(text))
