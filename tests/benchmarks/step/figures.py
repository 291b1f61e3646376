"""Rows of a run by cell, and what they come to: medians over repetitions, of ratios within one repetition."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

Row = dict[str, Any]
Figure = Callable[[Row], float]


def cpu(row: Row) -> float:
    """Milliseconds of processor time a step."""
    return float(row["cpu_ms"])


def bytes_of_step(row: Row) -> float:
    """As they were sent, over all steps of the process."""
    return float(row["sink"]["bytes"]) / float(row["all_steps"])


def spans_of_step(row: Row) -> float:
    """Over all steps of the process."""
    return float(row["spans"]) / float(row["all_steps"])


class Figures:
    """The rows of one run of the benchmark."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[str, dict[int, Row]] = defaultdict(dict)
        self.errors: list[str] = []
        for row in rows:
            if "error" in row:
                self.errors.append(f"{row['key']}: {row['error'].splitlines()[-1]}")
            else:
                self._rows[row["key"]][row["repetition"]] = row

    def keys(self, table: str) -> list[str]:
        """The cells of a table that were measured, by agents and then as they come."""
        found = [key for key in self._rows if key.startswith(f"{table}: ")]
        return sorted(found, key=lambda key: (key.split(", ")[-3:], "floor" not in key, "bare" not in key, key))

    def rows(self, key: str) -> list[Row]:
        """Of one cell."""
        return list(self._rows.get(key, {}).values())

    def all_rows(self) -> list[Row]:
        """Of all cells."""
        return [row for rows in self._rows.values() for row in rows.values()]

    def median(self, key: str, figure: Figure) -> float | None:
        """Of one cell; None where it was not measured."""
        found = [figure(row) for row in self.rows(key)]
        return statistics.median(found) if found else None

    def largest(self, key: str, figure: Figure) -> float | None:
        """Of one cell; None where it was not measured."""
        return max((figure(row) for row in self.rows(key)), default=None)

    def ratio(self, key: str, base: str, figure: Figure) -> float | None:
        """The median of the ratios within a repetition; None where one of the two was not measured."""
        others = self._rows.get(base, {})
        found = [
            figure(row) / figure(others[number])
            for number, row in self._rows.get(key, {}).items()
            if number in others and figure(others[number])
        ]
        return statistics.median(found) if found else None
