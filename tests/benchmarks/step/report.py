"""A run of the benchmark for people: tables of medians, and each bar with what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.step.bars import Bar
from tests.benchmarks.step.figures import Figures, Row, bytes_of_step, cpu, spans_of_step

TITLES = {
    "cost": "What a step costs",
    "length": "Long runs",
    "at once": "Fifty runs at once (sync: threads that share one loop)",
    "collector": "Collectors that do not do well (ours: `lost` is after `traced-loop deliver`)",
}
HEAD = (
    "agent",
    "CPU ms",
    "of floor",
    "wall ms",
    "steps/s",
    "spans",
    "B/span",
    "B/step",
    "peak MB",
    "ready ms",
    "import ms",
    "lost",
    "closed s",
    "exit s",
    "n",
)


def tables(figures: Figures) -> Iterator[str]:
    """A line at a time."""
    for table, title in TITLES.items():
        keys = figures.keys(table)
        if keys:
            yield from ("", title, "")
            yield from _aligned([HEAD, *(_row(figures, key) for key in keys)])
    yield ""
    yield "CPU, wall, spans and bytes are a step's; ready is CPU until the first run is answered; medians of n."
    yield "closed: seconds from the last run until exporters have closed; exit: until the process has gone."


def bar_lines(found: Sequence[Bar]) -> Iterator[str]:
    """Each bar."""
    yield from ("", "Bars", "")
    yield from _aligned(
        [
            (bar.about, "-" if bar.found is None else f"{bar.found:.2f}", _limit(bar), bar.verdict)
            for bar in sorted(found, key=lambda bar: bar.found is None)
        ]
    )


def _limit(bar: Bar) -> str:
    return f"{'>=' if bar.at_least else '<='} {bar.limit:g}"


def _row(figures: Figures, key: str) -> tuple[str, ...]:
    table, _, shape = key.partition(": ")
    parts = shape.split(", ")
    form, rounds, at_once, collector = parts[-4:]
    label = ", ".join(parts[:-4])
    special = {"cost": form, "length": rounds, "at once": form, "collector": collector}[table]
    floor = f"{table}: floor, {form}, {rounds}, {at_once}, {collector}"
    ratio = figures.ratio(key, floor, cpu)
    return (
        f"{label}, {special}",
        _shown(figures.median(key, cpu), 2),
        "" if ratio is None else f"{ratio:.2f}",
        _shown(figures.median(key, lambda row: float(row["wall_ms"])), 2),
        _shown(figures.median(key, lambda row: float(row["steps_per_s"]))),
        _shown(figures.median(key, spans_of_step), 2),
        _shown(figures.median(key, _bytes_of_span)),
        _shown(figures.median(key, bytes_of_step)),
        _shown(figures.median(key, lambda row: float(row["peak_mb"]))),
        _shown(figures.median(key, lambda row: float(row["ready_cpu_ms"]))),
        _shown(figures.median(key, lambda row: float(row["import_cpu_ms"]))),
        f"{sum(row['lost'] for row in figures.rows(key))}/{sum(row['spans'] for row in figures.rows(key))}",
        _shown(figures.median(key, lambda row: float(row["closed_s"])), 2),
        _shown(figures.median(key, lambda row: float(row["exit_s"])), 2),
        str(len(figures.rows(key))),
    )


def _bytes_of_span(row: Row) -> float:
    return float(row["sink"]["bytes"]) / (row["sink"]["spans"] or 1)


def _shown(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        rest = "  ".join(text.rjust(width) for text, width in zip(others, widths[1:], strict=True))
        yield f"{first.ljust(widths[0])}  {rest}".rstrip()
