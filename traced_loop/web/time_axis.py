"""Where a moment of a run stands on the page: the whole width is the run, and long pauses in it are drawn short."""

from collections.abc import Iterable, Sequence
from typing import Final

from traced_loop.frozen_value import frozen_value

_SHORT: Final = 0.05
"""The part of the width that a pause gets which is drawn short."""
_LONG_SHARE: Final = 0.2
"""A pause is drawn short from this part of the rest on."""
_SMALL: Final = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
_LARGE: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
_STEPS: Final[Sequence[int]] = tuple(
    [factor * 10**power for power in range(9) for factor in (1, 2, 5)]
    + [seconds * 1_000_000_000 for minutes in (1, 60) for seconds in (minutes * n for n in (1, 2, 5, 10, 15, 30))]
    + [hours * 3_600_000_000_000 for hours in (1, 2, 3, 6, 12)]
    + [days * 86_400_000_000_000 for days in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000)]
)
"""Nanoseconds between two marks."""


@frozen_value
class AxisPiece:
    """A stretch of time and its place.

    Attributes:
        start_ns: nanoseconds since 1970.
        end_ns: likewise.
        left: part of the width, 0 to 1.
        right: likewise.
        is_pause: whether it is drawn short; the ruler does not count it.
    """

    start_ns: int
    end_ns: int
    left: float
    right: float
    is_pause: bool = False


@frozen_value
class Tick:
    """A mark on the ruler: where it is, as part of the width, and what it says."""

    at: float
    text: str


@frozen_value
class TimeAxis:
    """The axis of one run; ``pieces`` follow each other from its first to its last moment."""

    pieces: tuple[AxisPiece, ...]

    @property
    def start_ns(self) -> int:
        """The first moment, nanoseconds since 1970."""
        return self.pieces[0].start_ns

    @property
    def length_ns(self) -> int:
        """From the first moment to the last, without what is drawn short; 1 at least."""
        return sum(piece.end_ns - piece.start_ns for piece in self.pieces if not piece.is_pause)

    def place(self, moment_ns: int) -> float:
        """The part of the width, 0 to 1; what lies outside of the run stands at its edge."""
        for piece in self.pieces:
            if moment_ns <= piece.end_ns:
                share = max(0, moment_ns - piece.start_ns) / (piece.end_ns - piece.start_ns)
                return piece.left + share * (piece.right - piece.left)
        return 1.0

    def ticks(self, most: int = 8) -> list[Tick]:
        """Marks at round times, at most so many and one more a pause. Time that is drawn short is not counted."""
        step = next((step for step in _STEPS if self.length_ns <= step * most), _STEPS[-1])
        found: list[Tick] = []
        passed = 0
        for piece in self.pieces:
            length = piece.end_ns - piece.start_ns
            if piece.is_pause:
                continue
            for moment in range(-(-passed // step) * step, passed + length, step):
                at = piece.left + (moment - passed) / length * (piece.right - piece.left)
                found.append(Tick(at=at, text=tick_text(moment)))
            passed += length
        return found[: 4 * most]


def time_axis(start_ns: int, end_ns: int, pauses: Iterable[tuple[int, int]] = ()) -> TimeAxis:
    """An axis.

    Args:
        start_ns: the first moment.
        end_ns: the last one; an axis is a nanosecond long at least.
        pauses: inside of it, in the order of time and apart from each other; the long ones are drawn short.
    """
    end_ns = max(end_ns, start_ns + 1)
    given = [pause for pause in pauses if start_ns < pause[0] < pause[1] < end_ns]
    active = end_ns - start_ns - sum(end - start for start, end in given)
    short = [pause for pause in given if pause[1] - pause[0] >= active * _LONG_SHARE]
    length = end_ns - start_ns - sum(end - start for start, end in short)
    share = min(_SHORT, 0.5 / max(1, len(short)))
    scale = (1 - share * len(short)) / max(1, length)
    pieces: list[AxisPiece] = []
    at, left = start_ns, 0.0
    for start, end in [*short, (end_ns, end_ns)]:
        right = 1.0 if start == end_ns else left + (start - at) * scale
        pieces.append(AxisPiece(start_ns=at, end_ns=start, left=left, right=right))
        if end > start:
            pieces.append(AxisPiece(start_ns=start, end_ns=end, left=right, right=right + share, is_pause=True))
        at, left = end, right + share
    return TimeAxis(pieces=tuple(pieces))


def tick_text(nanoseconds: int) -> str:
    """A round time: ``500 µs``, ``1.5 s``, ``1 min 30 s``; ``0`` for the first."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    parts: list[str] = []
    for unit, name in _LARGE:
        count, seconds = divmod(seconds, unit)
        if count:
            parts.append(f"{count} {name}")
    small = seconds * 1_000_000_000 + rest
    if small and parts:
        parts.append(f"{small / 1e9:.12g} s")
    elif small:
        unit, name = next(pair for pair in _SMALL if pair[0] <= small)
        parts.append(f"{small / unit:.12g} {name}")
    return " ".join(parts) or "0"
