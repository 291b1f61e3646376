"""The bar of a span on the axis of its run: where it lies, the critical path on it, its gaps, and waits for people."""

from collections.abc import Iterable, Sequence
from typing import Final

from traced_loop import names
from traced_loop.diagnose.critical_path import CriticalPath
from traced_loop.diagnose.time_gaps import TimeGap, gaps_in
from traced_loop.frozen_value import frozen_value
from traced_loop.read.span_times import Lasting
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.web.time_axis import TimeAxis

GAP_SHARE: Final = 0.02
"""The part of the run from which on a gap is marked; one below a millisecond never is."""
_MOST_MARKS: Final = 200
"""Marks of one kind on one bar: a span with 5,000 children has as many gaps."""
_MILLISECOND: Final = 1_000_000


@frozen_value
class Mark:
    """A part of a bar, in percent of the width of the whole axis.

    Attributes:
        x: where it begins, ``12.5%``.
        width: likewise.
        kind: of a gap its ``GapKind``, else ``""``.
        length_ns: how long it is.
    """

    x: str
    width: str
    length_ns: int
    kind: str = ""


@frozen_value
class Bar:
    """What is drawn of one span.

    Attributes:
        whole: None where its times are unknown.
        path: what of it is on the critical path and under no other span.
        gaps: what lies under none of its children, from ``BarMaker.least_ns`` on.
        waits: for a person.
    """

    whole: Mark | None = None
    path: tuple[Mark, ...] = ()
    gaps: tuple[Mark, ...] = ()
    waits: tuple[Mark, ...] = ()


@frozen_value
class BarMaker:
    """Makes the bars of one trace.

    Attributes:
        trace: it.
        times: of its spans.
        axis: of its run.
        stretches: of its critical path, by span.
        least_ns: shorter gaps are not marked.
    """

    trace: StoredTrace
    times: Sequence[Lasting | None]
    axis: TimeAxis
    stretches: dict[int, list[Lasting]]
    least_ns: int

    @classmethod
    def of(cls, trace: StoredTrace, times: Sequence[Lasting | None], axis: TimeAxis, path: CriticalPath) -> "BarMaker":
        """For a trace with its axis and path."""
        stretches: dict[int, list[Lasting]] = {}
        for stretch in path.stretches:
            if stretch.position is not None:
                stretches.setdefault(stretch.position, []).append((stretch.start_ns, stretch.end_ns))
        least_ns = max(_MILLISECOND, int(axis.length_ns * GAP_SHARE))
        return cls(trace=trace, times=times, axis=axis, stretches=stretches, least_ns=least_ns)

    def bar(self, position: int) -> Bar:
        """The bar of a span."""
        lasting = self.times[position]
        if lasting is None:
            return Bar()
        return Bar(
            whole=self.mark(lasting),
            path=tuple(self._marks(self.stretches.get(position, ()))),
            gaps=tuple(self._gap(gap) for gap in self.gaps(position)[:_MOST_MARKS]),
            waits=tuple(self._marks(waits_in(self.trace.spans[position], lasting))),
        )

    def gaps(self, position: int | None) -> tuple[TimeGap, ...]:
        """The gaps of a span that are long enough to be marked; None for those between the roots."""
        return gaps_in(self.trace, self.times, position, least_ns=self.least_ns)

    def mark(self, lasting: Lasting, kind: str = "") -> Mark:
        """A time on the axis."""
        left, right = self.axis.place(lasting[0]), self.axis.place(lasting[1])
        return Mark(x=percent(left), width=percent(right - left), length_ns=lasting[1] - lasting[0], kind=kind)

    def _marks(self, times: Iterable[Lasting]) -> Iterable[Mark]:
        return (self.mark(lasting) for lasting in list(times)[:_MOST_MARKS])

    def _gap(self, gap: TimeGap) -> Mark:
        return self.mark((gap.start_ns, gap.end_ns), gap.kind)


def waits_in(span: StoredSpan, lasting: Lasting) -> list[Lasting]:
    """When a person was waited for, inside of a span that asked one; empty for any other."""
    if span.name != names.AUTHORIZE_CALL:
        return []
    waited = span.number(names.CONFIRMATION_WAIT_MS)
    asked = span.text(names.CONFIRMATION_STATE) is not None or span.text(names.SCHEDULE_MODE) is not None
    start, end = lasting
    if waited is not None:
        end = min(end, start + int(waited * _MILLISECOND))
    return [(start, end)] if asked and end > start else []


def percent(share: float) -> str:
    """``12.5%`` of 0.125; exact enough to be looked at closely."""
    text = f"{100 * share:.6f}".rstrip("0").rstrip(".")
    return f"{text}%"
