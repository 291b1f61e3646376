"""From when to when each span of a trace lasted, as far as that can be drawn, whatever is open, missing or turned."""

from collections.abc import Sequence

from traced_loop.read.trace import StoredSpan, StoredTrace

Lasting = tuple[int, int]
"""Nanoseconds since 1970, from and to; the second is never below the first."""


def span_times(trace: StoredTrace, now_ns: int = 0) -> tuple[Lasting | None, ...]:
    """By position in ``trace.spans``. Linear in the number of spans.

    A span without an end lasts until now. One without a start, or whose end lies before its start, has the time from
    the first start to the last end of what is below it, and None where nothing below it has times either.

    Args:
        trace: of any shape.
        now_ns: the time, of a run that goes on; else 0, and now is the trace's last sign of life.
    """
    now = max(now_ns, trace.last_ns)
    found = [_own(span, now) for span in trace.spans]
    for n in reversed(top_down(trace)):
        if found[n] is None:
            found[n] = hull([found[child] for child in trace.children[n]])
    return tuple(found)


def top_down(trace: StoredTrace) -> list[int]:
    """All positions, parents before children."""
    order = list(trace.roots)
    for n in order:
        order.extend(trace.children[n])
    return order


def hull(times: Sequence[Lasting | None]) -> Lasting | None:
    """From the first start to the last end of several; None where none is known."""
    known = [lasting for lasting in times if lasting is not None]
    if not known:
        return None
    return min(start for start, _ in known), max(end for _, end in known)


def _own(span: StoredSpan, now: int) -> Lasting | None:
    if not span.start_ns:
        return None
    if span.is_open:
        return span.start_ns, max(span.start_ns, now)
    return (span.start_ns, span.end_ns) if span.end_ns >= span.start_ns else None
