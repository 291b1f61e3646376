"""What many runs came to together. What is unknown is counted, and added to nothing."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_choice import MICRO, TOOK

GROUPED: Final = (
    "state, stop_reason, count(*), sum(flagged),"
    " total(steps), count(steps), total(tool_calls), count(tool_calls), total(tokens), count(tokens),"
    " total(cost_microusd), count(cost_microusd),"
    f" total({TOOK}), count({TOOK})"
)
"""What ``sums_of`` takes, one row a state and stop reason. ``total`` and not ``sum``, to which an integer that is too
large is an error; sums below 2**53 are exact."""


@frozen_value
class Amount:
    """A sum over those of which it is known, and of how many it is not."""

    total: int = 0
    unknown: int = 0


@frozen_value
class RunSums:
    """Sums of runs.

    Attributes:
        runs: how many.
        flagged: how many of them with a flagged repetition.
        states: how many of each state; states without a run are not in it.
        stop_reasons: how many ended for each reason, the most frequent first; None for one that is unknown.
        steps: begun.
        tool_calls: executed.
        tokens: what counted against the token limits.
        microusd: the cost in millionths of a USD.
        nanoseconds: from start to end; unknown of runs without an end, and of those whose process died.
    """

    runs: int = 0
    flagged: int = 0
    states: tuple[tuple[str, int], ...] = ()
    stop_reasons: tuple[tuple[str | None, int], ...] = ()
    steps: Amount = Amount()
    tool_calls: Amount = Amount()
    tokens: Amount = Amount()
    microusd: Amount = Amount()
    nanoseconds: Amount = Amount()

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost of those of which it is known; None where it is known of none."""
        return None if self.microusd.unknown == self.runs else self.microusd.total / MICRO


def sums_of(rows: Iterable[Sequence[Any]]) -> RunSums:
    """Add up rows of ``GROUPED``."""
    groups = list(rows)
    runs = sum(int(row[2]) for row in groups)
    states: dict[str, int] = {}
    reasons: dict[str | None, int] = {}
    for state, reason, count, *_ in groups:
        states[state] = states.get(state, 0) + int(count)
        if state == "ended":
            reasons[reason] = reasons.get(reason, 0) + int(count)

    def amount(column: int) -> Amount:
        known = sum(int(row[column + 1]) for row in groups)
        return Amount(total=sum(round(row[column]) for row in groups), unknown=runs - known)

    return RunSums(
        runs=runs,
        flagged=sum(int(row[3]) for row in groups),
        states=tuple(sorted(states.items())),
        stop_reasons=tuple(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0] or ""))),
        steps=amount(4),
        tool_calls=amount(6),
        tokens=amount(8),
        microusd=amount(10),
        nanoseconds=amount(12),
    )
