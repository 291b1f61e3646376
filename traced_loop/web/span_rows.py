"""Which spans of a trace have a row: all of a small one; of a large one the upper levels, of many siblings the ends.

The others come when they are asked for.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.trace import StoredTrace

FIRST_ROWS: Final = 300
"""Rows of the first view: a level of the tree that does not fit in whole is left out, and all that is below it."""
ALL_ROWS: Final = 2_000
"""Rows when the reader asks for all."""
HEAD: Final = 80
"""Of more siblings than ``HEAD + TAIL``, so many of the first are shown"""
TAIL: Final = 20
"""and so many of the last."""
BESIDE: Final = 10
"""Siblings shown on each side of a span that is looked for."""
DEEPEST: Final = 500
"""A span below this level is not reached by opening all above it."""

Range = tuple[int, int]
"""Of siblings: the first, and the one behind the last."""


@frozen_value
class ShownSpan:
    """A row.

    Attributes:
        position: in ``StoredTrace.spans``.
        level: 1 for a root.
        place: among its siblings, from 0.
        siblings: how many there are, this one included.
        is_open: whether rows of what is below it follow.
    """

    position: int
    level: int
    place: int
    siblings: int
    is_open: bool


@frozen_value
class LeftOut:
    """Siblings without a row, between two that have one.

    Attributes:
        parent: their parent; None for roots.
        level: of theirs.
        first: the place of the first among its siblings.
        last: of the last, and one.
    """

    parent: int | None
    level: int
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many they are."""
        return self.last - self.first


Row = ShownSpan | LeftOut


def first_rows(trace: StoredTrace, *, limit: int = FIRST_ROWS, wanted: int | None = None) -> list[Row]:
    """The rows of a whole trace.

    Args:
        trace: of any shape and depth.
        limit: rows, about: roots are shown in any case.
        wanted: a span that is shown with all above it, and those beside each; at most ``DEEPEST`` levels down.
    """
    chosen = _Chosen(trace)
    chosen.open_levels([None], limit)
    if wanted is not None:
        chosen.open_down_to(wanted)
    return list(chosen.rows(None, 1))


def rows_below(trace: StoredTrace, parent: int | None, first: int, last: int, *, limit: int) -> list[Row]:
    """The rows of some children of a span, and of what is below these.

    Args:
        trace: of any shape and depth.
        parent: None for roots.
        first: the place of the first child.
        last: of the last, and one.
        limit: rows, about: the children are shown in any case.
    """
    siblings = trace.below(parent)
    wanted = max(0, first), min(last, len(siblings))
    chosen = _Chosen(trace)
    if wanted[0] < wanted[1]:
        chosen.opened[parent] = [wanted]
        chosen.open_levels([n for n in siblings[slice(*wanted)] if trace.children[n]], limit - (wanted[1] - wanted[0]))
    level, at = 1, parent
    while at is not None:
        level, at = level + 1, trace.parents[at]
    return [row for row in chosen.rows(parent, level) if isinstance(row, ShownSpan) or row.parent != parent]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Spans whose children are shown, and which of these."""

    trace: StoredTrace
    opened: dict[int | None, list[Range]] = field(default_factory=dict[int | None, list[Range]])

    def open_levels(self, level: Sequence[int | None], limit: int) -> None:
        """Open level by level, each whole, while there is room."""
        left = limit
        while level:
            ranges = {n: _ends(len(self.trace.below(n))) for n in level}
            count = sum(last - first for each in ranges.values() for first, last in each)
            if count > left and None not in level:
                return
            self.opened.update(ranges)
            left -= count
            level = [child for n in level for child in self._shown(n) if self.trace.children[child]]

    def open_down_to(self, wanted: int) -> None:
        """Open what is above a span, and show it with those beside it."""
        chain = [wanted]
        while (above := self.trace.parents[chain[-1]]) is not None:
            chain.append(above)
        chain.reverse()
        for above, child in zip([None, *chain], chain[:DEEPEST], strict=False):
            siblings = self.trace.below(above)
            place = siblings.index(child)
            beside = max(0, place - BESIDE), min(len(siblings), place + BESIDE + 1)
            self.opened[above] = _joined([*_ends(len(siblings)), beside])

    def rows(self, top: int | None, level: int) -> Iterator[Row]:
        """The rows below a span, in their order; nothing recurses."""
        waiting = [self._below(top, level)]
        while waiting:
            row = next(waiting[-1], None)
            if row is None:
                waiting.pop()
                continue
            yield row
            if isinstance(row, ShownSpan) and row.is_open:
                waiting.append(self._below(row.position, row.level + 1))

    def _below(self, parent: int | None, level: int) -> Iterator[Row]:
        siblings, at = self.trace.below(parent), 0
        for first, last in self.opened.get(parent, ()):
            if first > at:
                yield LeftOut(parent=parent, level=level, first=at, last=first)
            for place in range(first, last):
                n = siblings[place]
                is_open = n in self.opened
                yield ShownSpan(position=n, level=level, place=place, siblings=len(siblings), is_open=is_open)
            at = last
        if at < len(siblings) and parent in self.opened:
            yield LeftOut(parent=parent, level=level, first=at, last=len(siblings))

    def _shown(self, parent: int | None) -> Iterator[int]:
        siblings = self.trace.below(parent)
        for first, last in self.opened[parent]:
            yield from siblings[first:last]


def _ends(count: int) -> list[Range]:
    return [(0, count)] if count <= HEAD + TAIL else [(0, HEAD), (count - TAIL, count)]


def _joined(ranges: Iterable[Range]) -> list[Range]:
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
