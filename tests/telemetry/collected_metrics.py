"""A provider of metrics that a test reads."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

Point = tuple[frozenset[tuple[str, Any]], float]


class Collected:
    """What a meter has been told, by the metric's name."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self._provider = MeterProvider([self._reader], shutdown_on_exit=False)
        self.meter = self._provider.get_meter("traced_loop")

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """Labels and data point of every series, by metric."""
        data = self._reader.get_metrics_data()
        found: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = [(dict(point.attributes or {}), point) for point in metric.data.data_points]
        return found

    def metrics(self) -> list[Any]:
        """Every metric with its unit and data."""
        data = self._reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return [metric for scope in scopes for metric in scope.metrics]

    def values(self, name: str, *keys: str) -> dict[Any, float]:
        """Sums of a metric by the values of these labels: of a histogram its sum; those of 0 are left out."""
        found: dict[Any, float] = {}
        for labels, point in self.points().get(name, ()):
            key = tuple(labels.get(key) for key in keys)
            shown: Any = key[0] if len(keys) == 1 else key
            found[shown] = found.get(shown, 0) + (point.sum if hasattr(point, "bucket_counts") else point.value)
        return {key: value for key, value in found.items() if value}

    def count(self, name: str, **labels: str) -> int:
        """How often a histogram was told something."""
        return sum(
            point.count for found, point in self.points()[name] if all(found.get(k) == v for k, v in labels.items())
        )
