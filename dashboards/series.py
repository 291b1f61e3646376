"""What Prometheus calls our metrics and labels, made from the table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traced_loop.telemetry.metric_table import METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNITS = {"s": "seconds", "By": "bytes", "USD": "USD"}


def label(key: str) -> str:
    """A label as Prometheus calls it."""
    return key.replace(".", "_")


def series(metric: Metric, part: str = "") -> str:
    """The series of a metric.

    Args:
        metric: of the table.
        part: `bucket`, `sum` or `count` of a histogram.
    """
    unit = _UNITS.get(metric.unit, "")
    words = [label(metric.name), unit if unit and not label(metric.name).endswith(unit) else ""]
    words.append("total" if metric.kind in {"counter", "observed_counter"} else part)
    return "_".join(word for word in words if word)


def all_series() -> Iterator[tuple[str, frozenset[str]]]:
    """Every series of every metric, each with its labels."""
    for metric in METRICS:
        labels = frozenset(label(key) for key in metric.labels)
        if metric.kind != "histogram":
            yield series(metric), labels
            continue
        yield series(metric, "bucket"), labels | {"le"}
        yield series(metric, "sum"), labels
        yield series(metric, "count"), labels
