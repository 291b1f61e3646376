"""Time of a span while none of the spans below it lasted: the loop itself spent it, or nothing was recorded.

A span with nothing below it has no gaps: all of its time is its own.
"""

from collections.abc import Sequence
from enum import StrEnum

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.read.span_times import Lasting, hull
from traced_loop.read.trace import StoredTrace


class GapKind(StrEnum):
    """What stands after a gap tells what it was."""

    BETWEEN_RUNS = "between_runs"
    """A run was stopped or paused, and then resumed: no span of the trace lasted."""
    BETWEEN_TRIES = "between_tries"
    """A pause before the next try."""
    UNDER_NO_SPAN = "under_no_span"
    """Anything else: what the span did itself, or spans that are missing."""


@frozen_value
class TimeGap:
    """One gap: nanoseconds since 1970, from and to, and what it was."""

    start_ns: int
    end_ns: int
    kind: GapKind

    @property
    def length_ns(self) -> int:
        """Above 0."""
        return self.end_ns - self.start_ns


def gaps_in(
    trace: StoredTrace, times: Sequence[Lasting | None], position: int | None, *, least_ns: int = 1
) -> tuple[TimeGap, ...]:
    """The gaps of one span in the order of time.

    Args:
        trace: of any shape.
        times: of its spans, from ``span_times``.
        position: of the span; None for the time between the roots.
        least_ns: shorter ones are left out.
    """
    timed = sorted((lasting, n) for n in trace.below(position) if (lasting := times[n]) is not None)
    whole = hull([lasting for lasting, _ in timed]) if position is None else times[position]
    if not timed or whole is None:
        return ()
    found: list[TimeGap] = []
    at, end = whole
    before: int | None = None
    for (start, stop), n in timed:
        upto = min(start, end)
        if upto - at >= max(1, least_ns):
            found.append(TimeGap(start_ns=at, end_ns=upto, kind=_kind(trace, position, before, n)))
        at, before = max(at, stop), n
    if end - at >= max(1, least_ns):
        found.append(TimeGap(start_ns=at, end_ns=end, kind=GapKind.UNDER_NO_SPAN))
    return tuple(found)


def _kind(trace: StoredTrace, position: int | None, before: int | None, after: int) -> GapKind:
    if position is None:
        return GapKind.BETWEEN_RUNS
    tried = before is not None and trace.spans[before].name == names.ATTEMPT
    again = trace.spans[after].name == names.ATTEMPT
    return GapKind.BETWEEN_TRIES if tried and again else GapKind.UNDER_NO_SPAN
