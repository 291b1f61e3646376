"""The bars: what each figure of ours has to reach, against the loop by hand in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.benchmarks.step.figures import Figures, bytes_of_step, cpu, spans_of_step

MIN_SPANS_OF_STEP = 7
EXIT_SECONDS = 1.0
FAULTS = ("hung", "refusing", "down")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One of them.

    Attributes:
        about: what is measured, with its unit where it is no ratio.
        found: None where this run did not measure it.
        limit: what may not be passed, downward for `at_least`.
        at_least: more is better.
    """

    about: str
    found: float | None
    limit: float
    at_least: bool = False

    @property
    def missed(self) -> bool:
        """Measured, and beyond it."""
        if self.found is None:
            return False
        return self.found < self.limit if self.at_least else self.found > self.limit

    @property
    def verdict(self) -> str:
        """In words."""
        return "not measured" if self.found is None else "NOT MET" if self.missed else "met"


def cell(label: str, *, table: str = "cost", form: str = "sync", rounds: int = 5, at_once: int = 1) -> str:
    """The key of a cell with a healthy collector."""
    return f"{table}: {label}, {form}, {rounds} rounds, {at_once} at once, healthy"


def bars(figures: Figures, span_ratio: float | None) -> list[Bar]:
    """All of them; the ratio of a span's cost is `tracing_cost`'s."""
    return [
        *_cost(figures),
        Bar(about="CPU of a span, of a bare span (tracing_cost.py)", found=span_ratio, limit=1.6),
        *_length(figures),
        *_at_once(figures),
        *_collector(figures),
        *_start(figures),
        Bar(about="spans of ours that are missing, all cells", found=_lost(figures), limit=0),
        Bar(about="processes that failed, peers aside", found=_failed(figures), limit=0),
    ]


def _cost(figures: Figures) -> Iterator[Bar]:
    yield Bar(about="CPU a step, of the floor's", found=figures.ratio(cell("ours"), cell("floor"), cpu), limit=0.80)
    spans = figures.median(cell("ours"), spans_of_step)
    yield Bar(about="spans a step", found=spans, limit=MIN_SPANS_OF_STEP, at_least=True)


def _length(figures: Figures) -> Iterator[Bar]:
    def key(label: str, rounds: int) -> str:
        return cell(label, table="length", rounds=rounds)

    ours, short = key("ours", 200), key("ours", 5)
    yield Bar(about="CPU a step at 200 rounds, of that at 5", found=figures.ratio(ours, short, cpu), limit=2.0)
    ratio = figures.ratio(ours, key("floor", 200), cpu)
    yield Bar(about="CPU a step at 200 rounds, of the floor's", found=ratio, limit=0.12)
    ratio = figures.ratio(key("ours, content", 200), key("ours, content", 5), bytes_of_step)
    yield Bar(about="bytes a step with content at 200 rounds, of those at 5", found=ratio, limit=1.3)
    dropped = [row["sink"]["dropped_attributes"] for row in figures.all_rows() if row["key"].startswith("length: ours")]
    yield Bar(about="attributes dropped", found=max(dropped, default=None), limit=0)


def _at_once(figures: Figures) -> Iterator[Bar]:
    for form, how in (("async", "tasks"), ("sync", "threads")):
        ours = cell("ours", table="at once", form=form, at_once=50)
        floor = cell("floor", table="at once", form=form, at_once=50)
        ratio = figures.ratio(ours, floor, lambda row: float(row["steps_per_s"]))
        yield Bar(about=f"steps a second, 50 {how} at once, of the floor's", found=ratio, limit=1.2, at_least=True)


def _collector(figures: Figures) -> Iterator[Bar]:
    def key(how: str) -> str:
        return cell("ours", table="collector").replace("healthy", how)

    healthy = key("healthy") if figures.rows(key("healthy")) else cell("ours")
    for how in FAULTS:
        ratio = figures.ratio(key(how), healthy, cpu)
        yield Bar(about=f"CPU a step, collector {how}, of that with a healthy one", found=ratio, limit=1.05)
        seconds = figures.median(key(how), lambda row: float(row["exit_s"]))
        yield Bar(about=f"seconds until exit, collector {how}", found=seconds, limit=EXIT_SECONDS)
        lost = figures.largest(key(how), lambda row: float(row["lost"]))
        yield Bar(about=f"spans missing after delivery, collector {how}", found=lost, limit=0)


def _start(figures: Figures) -> Iterator[Bar]:
    found = figures.median("import", lambda row: float(row["import_cpu_ms"]))
    yield Bar(about="CPU of the import, ms", found=found, limit=250)
    found = figures.largest("import", lambda row: float(row["openai_imported"]))
    yield Bar(about="openai is imported with it", found=found, limit=0)
    ratio = figures.ratio(cell("ours"), cell("bare"), lambda row: float(row["ready_cpu_ms"]))
    yield Bar(about="CPU until the first answer, of bare spans'", found=ratio, limit=1.1)
    ratio = figures.ratio(cell("ours"), cell("bare"), lambda row: float(row["peak_mb"]))
    yield Bar(about="peak memory, of bare spans'", found=ratio, limit=1.15)


def _lost(figures: Figures) -> float | None:
    rows = [row for row in figures.all_rows() if row.get("cell", {}).get("choice", {}).get("agent") == "ours"]
    return sum(row["lost"] for row in rows) if rows else None


def _failed(figures: Figures) -> int:
    return sum(not error.startswith("peer: ") for error in figures.errors)
