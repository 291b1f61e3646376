"""The spans of a run as a waterfall: a row for each span that is shown, its bar on one axis, and what it refers to."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rich.text import Text

from traced_loop import names
from traced_loop.diagnose.critical_path import CriticalPath, critical_path
from traced_loop.diagnose.time_gaps import GapKind, gaps_in
from traced_loop.frozen_value import frozen_value
from traced_loop.read.span_times import Lasting, hull, span_times
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.views.span_words import described, title
from traced_loop.views.visible import cut
from traced_loop.web.bar_marks import Bar, BarMaker, Mark
from traced_loop.web.span_handles import SpanHandles, span_handles
from traced_loop.web.span_relations import Relation, RelationKind, relations_of
from traced_loop.web.span_rows import ALL_ROWS, LeftOut, Row, ShownSpan, first_rows, rows_below
from traced_loop.web.time_axis import TimeAxis, time_axis
from traced_loop.web.word_marks import CLASSES

DEEPEST_INDENT: Final = 12
"""Below this depth rows stop moving right and say their depth."""
BELOW_ROWS: Final = 150
"""Rows that come at once when a span is opened."""
_TITLE_CHARACTERS: Final = 120
_WORD_CHARACTERS: Final = 160
_KINDS: Final = {names.CHAT: "model", names.EXECUTE_TOOL: "tool", names.INVOKE_AGENT: "run", names.STEP: "step"}


@frozen_value
class Word:
    """Something said of a span, in English, and the class of its colour (``""`` for none)."""

    text: str
    style: str


@frozen_value
class Reference:
    """A span that another one refers to; ``handle`` and ``title`` are ``""`` where this trace does not have it."""

    kind: RelationKind
    handle: str
    title: str


@frozen_value
class SpanRow:
    """One row.

    Attributes:
        shown: its place in the tree.
        span: what it shows.
        handle: of the span, for addresses.
        parent: handle of the parent, ``""`` for a root.
        children: how many spans are right below it.
        title: the span's name as people say it.
        words: what is said behind it.
        kind: ``run``, ``step``, ``model``, ``tool`` or ``loop``.
        bar: what is drawn.
        start_ns: since the begin of the run; None for unknown.
        duration_ns: None while open, and for unknown.
        is_on_path: whether the critical path goes through it or what is below it.
        early_ns: how long it began before its parent, which clocks that differ make; 0 for not.
        references: spans that it refers to.
    """

    shown: ShownSpan
    span: StoredSpan
    handle: str
    parent: str
    children: int
    title: str
    words: tuple[Word, ...]
    kind: str
    bar: Bar
    start_ns: int | None
    duration_ns: int | None
    is_on_path: bool
    early_ns: int
    references: tuple[Reference, ...]

    @property
    def indent(self) -> int:
        """Levels by which it stands further right."""
        return min(self.shown.level - 1, DEEPEST_INDENT)

    @property
    def gap_ns(self) -> int:
        """The marked gaps together, without pauses between tries."""
        return sum(gap.length_ns for gap in self.bar.gaps if gap.kind != GapKind.BETWEEN_TRIES)

    @property
    def pause_ns(self) -> int:
        """The marked pauses between tries together."""
        return sum(gap.length_ns for gap in self.bar.gaps if gap.kind == GapKind.BETWEEN_TRIES)

    @property
    def wait_ns(self) -> int:
        """How long a person was waited for."""
        return sum(wait.length_ns for wait in self.bar.waits)


@frozen_value
class LeftOutRow:
    """Siblings that are not shown; ``parent`` is a handle, ``""`` for roots."""

    left_out: LeftOut
    parent: str

    @property
    def indent(self) -> int:
        """As of a row."""
        return min(self.left_out.level - 1, DEEPEST_INDENT)


@dataclass(frozen=True, kw_only=True)  # no slots: rows are made once, when they are asked for
class Waterfall:
    """The waterfall of one run.

    Attributes:
        run_id: of the run.
        trace: its spans.
        times: of these.
        handles: likewise.
        path: the critical path.
        axis: from the first start to the last end, or to now while the run goes on; a nanosecond without times.
        is_going_on: whether open spans last until now.
        wanted: position of a span that is shown in any case, or None.
    """

    run_id: str
    trace: StoredTrace
    times: Sequence[Lasting | None]
    handles: SpanHandles
    path: CriticalPath
    axis: TimeAxis
    is_going_on: bool = False
    wanted: int | None = None

    @cached_property
    def rows(self) -> tuple[SpanRow | LeftOutRow, ...]:
        """The rows of the first view."""
        return self._made(first_rows(self.trace, wanted=self.wanted))

    def all_rows(self) -> tuple[SpanRow | LeftOutRow, ...]:
        """As many rows as are shown at once when the reader asks for all."""
        return self._made(first_rows(self.trace, limit=ALL_ROWS, wanted=self.wanted))

    def rows_below(self, parent: int | None, first: int, last: int) -> tuple[SpanRow | LeftOutRow, ...]:
        """The rows of some children of a span (None for the roots), by their places, and of what is below them."""
        return self._made(rows_below(self.trace, parent, first, last, limit=BELOW_ROWS))

    @property
    def count(self) -> int:
        """Spans of the run, shown or not."""
        return len(self.trace.spans)

    @property
    def pauses(self) -> tuple[Mark, ...]:
        """Pauses of the run in which nothing is recorded, and that are drawn short."""
        return tuple(
            self._bars.mark((piece.start_ns, piece.end_ns), GapKind.BETWEEN_RUNS)
            for piece in self.axis.pieces
            if piece.is_pause
        )

    @property
    def axis_data(self) -> str:
        """The axis for the script: of each piece that the ruler counts, nanoseconds from and to, and its place."""
        pieces: list[tuple[int, int, float, float]] = []
        passed = 0
        for piece in self.axis.pieces:
            if not piece.is_pause:
                length = piece.end_ns - piece.start_ns
                pieces.append((passed, passed + length, piece.left, piece.right))
                passed += length
        return json.dumps(pieces)

    def row(self, shown: ShownSpan) -> SpanRow:
        """One row."""
        n, span = shown.position, self.trace.spans[shown.position]
        above, lasting = self.trace.parents[n], self.times[n]
        return SpanRow(
            shown=shown,
            span=span,
            handle=self.handles.handles[n],
            parent="" if above is None else self.handles.handles[above],
            children=len(self.trace.children[n]),
            title=cut(title(span), _TITLE_CHARACTERS),
            words=tuple(_words(described(span))),
            kind=_KINDS.get(span.operation, "loop"),
            bar=self._bars.bar(n),
            start_ns=None if lasting is None else lasting[0] - self.axis.start_ns,
            duration_ns=span.duration_ns if span.start_ns else None,
            is_on_path=n in self.path.positions,
            early_ns=self._early(n),
            references=tuple(map(self._reference, relations_of(self.trace, self.handles, n))),
        )

    def _made(self, rows: Iterable[Row]) -> tuple[SpanRow | LeftOutRow, ...]:
        return tuple(self.row(row) if isinstance(row, ShownSpan) else self._left_out(row) for row in rows)

    def _left_out(self, row: LeftOut) -> LeftOutRow:
        return LeftOutRow(left_out=row, parent="" if row.parent is None else self.handles.handles[row.parent])

    def _reference(self, relation: Relation) -> Reference:
        if relation.target is None:
            return Reference(kind=relation.kind, handle="", title="")
        name = cut(title(self.trace.spans[relation.target]), _TITLE_CHARACTERS)
        return Reference(kind=relation.kind, handle=self.handles.handles[relation.target], title=name)

    def _early(self, n: int) -> int:
        above = self.trace.parents[n]
        start, begun = self.trace.spans[n].start_ns, 0 if above is None else self.trace.spans[above].start_ns
        return max(0, begun - start) if start else 0

    @cached_property
    def _bars(self) -> BarMaker:
        return BarMaker.of(self.trace, self.times, self.axis, self.path)


def waterfall_of(trace: StoredTrace, *, run_id: str, now_ns: int | None = None, wanted: str | None = None) -> Waterfall:
    """The waterfall of a trace.

    Args:
        trace: of any shape, damaged ones included.
        run_id: of its run, for addresses.
        now_ns: the time, of a run that goes on; None of one that does not.
        wanted: handle of a span that is shown in any case; unknown ones are no error.
    """
    times, handles = span_times(trace, now_ns or 0), span_handles(trace)
    whole = hull(times) or (0, 0)
    pauses = [(gap.start_ns, gap.end_ns) for gap in gaps_in(trace, times, None)]
    return Waterfall(
        run_id=run_id,
        trace=trace,
        times=times,
        handles=handles,
        path=critical_path(trace, times),
        axis=time_axis(*whole, pauses),
        is_going_on=now_ns is not None,
        wanted=None if wanted is None else handles.positions.get(wanted),
    )


def _words(said: Iterable[Text]) -> Iterable[Word]:
    """Rich's styles as classes of the page."""
    for text in said:
        yield Word(text=cut(text.plain, _WORD_CHARACTERS), style=CLASSES.get(str(text.style), ""))
