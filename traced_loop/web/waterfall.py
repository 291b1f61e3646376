"""The spans of a run as a waterfall."""

from dataclasses import dataclass

from traced_loop.read.trace import StoredSpan, StoredTrace


@dataclass(frozen=True, kw_only=True, slots=True)
class Waterfall:
    """What the waterfall of one run shows: each span with its depth, parents before children."""

    rows: tuple[tuple[int, StoredSpan], ...]


def waterfall_of(trace: StoredTrace) -> Waterfall:
    """The waterfall of a trace."""
    return Waterfall(rows=tuple(trace.walk()))
