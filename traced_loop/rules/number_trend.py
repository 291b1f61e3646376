"""How the numbers of a call's results move, where its results differ in nothing but numbers.

A number that moves one way is news (a job at 10, 20, 30 %), one that wanders is not (a download's speed). The verdict
stands on the span, so that a stored trace tells it without any number.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from traced_loop.closed_words import Trend

MAX_RESULTS: Final = 64
"""How many different results of a run are remembered; of more, the one that was not seen for longest is forgotten."""
_UP, _DOWN = 1, 2


@dataclass(slots=True)
class _Course:
    """The last numbers, and for each of them which ways it has moved since the first."""

    numbers: "array[float]"
    moved: bytearray


@dataclass(slots=True)
class NumberTrends:
    """The numbers of one run's results. At most ``MAX_RESULTS`` times as many as a normal form keeps."""

    _courses: dict[tuple[str, str], _Course] = field(default_factory=dict[tuple[str, str], _Course])

    def trend(self, call: str, masked: str, numbers: Sequence[float]) -> Trend | None:
        """Note a result, and tell how it moved since the last one of this call with these words.

        Args:
            call: fingerprint of the call without what is volatile.
            masked: fingerprint of the result without its numbers.
            numbers: these, in their order.

        Returns:
            ``up`` or ``down`` where a number moved now and has never moved the other way, ``mixed`` where numbers moved
            and all of them have moved both ways, ``same`` where none moved; None for the first result, or one without
            numbers.
        """
        if not numbers:
            return None
        before = self._courses.pop((call, masked), None)
        if before is None or len(before.numbers) != len(numbers):
            before, said = _Course(array("d", numbers), bytearray(len(numbers))), None
        else:
            said = _move(before, numbers)
        self._courses[call, masked] = before
        if len(self._courses) > MAX_RESULTS:
            del self._courses[next(iter(self._courses))]
        return said


def _move(course: _Course, numbers: Sequence[float]) -> Trend:
    ways: set[int] = set()
    for place, (old, new) in enumerate(zip(course.numbers, numbers, strict=True)):
        if old != new:
            course.moved[place] |= _UP if new > old else _DOWN
            ways.add(course.moved[place])
    course.numbers = array("d", numbers)
    return "same" if not ways else "up" if _UP in ways else "down" if _DOWN in ways else "mixed"
