"""The critical path of a trace: the chain of spans that determines when the run ends.

It is walked backwards. At a moment ``t`` inside of a span, the span waited for that child of it which is the last to
end at or before ``t``. From the child's end to ``t`` the span itself is on the path; then the walk goes through the
child, from its end to its start, and goes on in the span at the child's start. So of calls that ran side by side, the
last to end is on the path, and of the others only one that ended before that one began. A child that lasts longer than
its parent counts up to the parent's end. Late completions hold up nothing and are left out.

The stretches of the path follow each other without a gap or an overlap, from the first start to the last end: shorten
one of them, and the run ends so much earlier, as far as nothing that was hidden behind it takes its place.
"""

from collections.abc import Iterable, Sequence

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.read.span_times import Lasting, hull
from traced_loop.read.trace import StoredTrace


@frozen_value
class Stretch:
    """A time in which the run's end depended on one span and on nothing below it.

    Attributes:
        position: of the span in ``StoredTrace.spans``; None between two roots, as where a run was paused.
        start_ns: nanoseconds since 1970.
        end_ns: likewise; above the start.
    """

    position: int | None
    start_ns: int
    end_ns: int


@frozen_value
class CriticalPath:
    """The path of one trace.

    Attributes:
        stretches: in the order of time, each begins where the one before it ends.
        positions: of the spans that have a stretch, and of all above them.
    """

    stretches: tuple[Stretch, ...] = ()
    positions: frozenset[int] = frozenset()


def critical_path(trace: StoredTrace, times: Sequence[Lasting | None]) -> CriticalPath:
    """The path through the runs of a trace, or through all roots where none is a run; empty where no times are known.

    Args:
        trace: of any shape and depth.
        times: of its spans, from ``span_times``.
    """
    known = [n for n in trace.roots if times[n] is not None]
    tops = [n for n in known if trace.spans[n].is_run] or known
    whole = hull([times[n] for n in tops])
    if whole is None:
        return CriticalPath()
    walks = [_Walk(None, whole, _by_end(trace, tops, times))]
    found: list[Stretch] = []
    while walks:
        walk = walks[-1]
        waited_for = walk.back_to_a_child(found)
        if waited_for is None:
            walks.pop()
            continue
        child, lasting = waited_for
        if trace.children[child]:
            walks.append(_Walk(child, lasting, _by_end(trace, trace.children[child], times)))
        else:
            found.append(Stretch(position=child, start_ns=lasting[0], end_ns=lasting[1]))
    found.reverse()
    return CriticalPath(stretches=tuple(found), positions=_with_those_above(trace, found))


class _Walk:
    """Backwards through one span."""

    __slots__ = ("_at", "_children", "_end", "_position", "_start")

    def __init__(self, position: int | None, lasting: Lasting, children: list[tuple[int, Lasting]]) -> None:
        self._position = position
        self._start, self._end = lasting
        self._at = self._end
        self._children = children

    def back_to_a_child(self, found: list[Stretch]) -> tuple[int, Lasting] | None:
        """Note the span's own stretch; None when that one reaches back to its start."""
        while self._children:
            child, (start, end) = self._children.pop()
            begun, ended = max(start, self._start), min(end, self._end)
            if begun < ended <= self._at:
                self._note(ended, found)
                self._at = begun
                return child, (begun, ended)
        self._note(self._start, found)
        return None

    def _note(self, start: int, found: list[Stretch]) -> None:
        if start < self._at:
            found.append(Stretch(position=self._position, start_ns=start, end_ns=self._at))


def _by_end(trace: StoredTrace, positions: Iterable[int], times: Sequence[Lasting | None]) -> list[tuple[int, Lasting]]:
    """Those with times, the last to end at the end of the list; of equals, the first to start."""
    timed = [(n, lasting) for n in positions if (lasting := times[n]) and trace.spans[n].name != names.LATE_COMPLETION]
    return sorted(timed, key=lambda pair: (pair[1][1], -pair[1][0], -pair[0]))


def _with_those_above(trace: StoredTrace, stretches: Iterable[Stretch]) -> frozenset[int]:
    found: set[int] = set()
    for stretch in stretches:
        at = stretch.position
        while at is not None and at not in found:
            found.add(at)
            at = trace.parents[at]
    return frozenset(found)
