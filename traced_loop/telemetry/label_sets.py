"""The label sets of one metric: bounded, whatever is put into them, and made once each."""

from collections.abc import Collection, Mapping

from traced_loop import names
from traced_loop.fork_safe_lock import ForkSafeLock

Label = str | int
Labels = Mapping[str, Label]


class LabelSets:
    """The label sets of one metric. Any thread may ask."""

    def __init__(self, keys: tuple[str, ...], closed: Collection[str] = (), most: int = 200) -> None:
        """Begin without any.

        Args:
            keys: the labels, in the order in which their values are given.
            closed: those of them whose values are from a closed list: never replaced.
            most: combinations of values that are not from a closed list; in those that come later each is ``_other``.
                A hundred tools of one agent fit, each with two types of error.
        """
        self._keys = keys
        self._open = [key not in closed for key in keys]
        self._most = most
        self._made: dict[tuple[Label | None, ...], Labels] = {}
        self._distinct: set[tuple[Label | None, ...]] = set()
        self._lock = ForkSafeLock()

    def of(self, *values: Label | None) -> Labels:
        """The labels with these values; None leaves one out."""
        made = self._made.get(values)
        return made if made is not None else self._new(values)

    def all(self) -> list[Labels]:
        """Every set by now."""
        return list(self._made.values())

    def _new(self, values: tuple[Label | None, ...]) -> Labels:
        with self._lock:
            opened = tuple(value for value, is_open in zip(values, self._open, strict=True) if is_open)
            if opened not in self._distinct:
                if len(self._distinct) >= self._most:
                    values = tuple(
                        names.OTHER if is_open and value is not None else value
                        for value, is_open in zip(values, self._open, strict=True)
                    )
                else:
                    self._distinct.add(opened)
            pairs = zip(self._keys, values, strict=True)
            return self._made.setdefault(values, {key: value for key, value in pairs if value is not None})
