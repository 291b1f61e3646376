"""Sums of numbers of which each counts up to a cap: how much of a place in many inputs came from the cache."""

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal


class CappedSums:
    """Sums of weighted numbers, each capped: a tree of sums over the sorted numbers, no square in a long run."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._weights = [Decimal(0)] * (len(numbers) + 1)
        self._products = [Decimal(0)] * (len(numbers) + 1)
        self._all = Decimal(0)

    def add(self, number: int, weight: Decimal) -> None:
        """One of the numbers, with a weight."""
        self._all += weight
        at = bisect_right(self._numbers, number)
        while at < len(self._weights):
            self._weights[at] += weight
            self._products[at] += weight * number
            at += at & -at

    def total(self, cap: int) -> Decimal:
        """The sum over what was added of weight times the smaller one of number and cap."""
        at = bisect_right(self._numbers, cap)
        weights = products = Decimal(0)
        while at:
            weights += self._weights[at]
            products += self._products[at]
            at -= at & -at
        return products + (self._all - weights) * cap
