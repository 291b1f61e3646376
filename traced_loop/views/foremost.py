"""The first of many by some order, without holding the others."""

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Foremost(Generic[T]):
    """Holds the values with the smallest keys, at most some more than are asked for, and counts all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[Any, T]] = []
        self.count = 0

    def add(self, key: Any, value: T) -> None:
        """The next one; keys are compared with each other, of equal ones the first to come is first."""
        self._kept.append((key, value))
        self.count += 1
        if len(self._kept) > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        self._kept.sort(key=lambda pair: pair[0])
        del self._kept[self._most :]

    def values(self) -> list[T]:
        """The first ones, in order."""
        self._cut()
        return [value for _, value in self._kept]

    @property
    def left_out(self) -> int:
        """How many are not among them."""
        return max(0, self.count - self._most)
