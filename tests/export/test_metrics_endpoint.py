"""Where metrics go is what the standard variables say, read in one place."""

from __future__ import annotations

import pytest

from traced_loop import UsageError
from traced_loop.export.metrics_endpoint import metrics_targets

BASE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}
METRICS = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m:9090/api/v1/otlp/v1/metrics"}
PROMETHEUS = {"OTEL_METRICS_EXPORTER": "prometheus"}


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ({}, []),
        (BASE, ["http/protobuf to http://c:4318/v1/metrics"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, ["grpc to http://c:4317"]),
        (METRICS, ["http/protobuf to http://m:9090/api/v1/otlp/v1/metrics"]),
        ({**BASE, **METRICS}, ["http/protobuf to http://m:9090/api/v1/otlp/v1/metrics"]),
        ({**BASE, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, ["grpc to http://c:4318"]),
        ({**BASE, "OTEL_METRICS_EXPORTER": "none"}, []),
        ({**BASE, "OTEL_TRACES_EXPORTER": "none"}, ["http/protobuf to http://c:4318/v1/metrics"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, []),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, ["http/protobuf to http://localhost:4318/v1/metrics"]),
        ({"OTEL_METRICS_EXPORTER": "console"}, ["the console"]),
        (PROMETHEUS, ["http://127.0.0.1:9464/metrics"]),
        (
            {**PROMETHEUS, "OTEL_EXPORTER_PROMETHEUS_HOST": "10.0.0.1", "OTEL_EXPORTER_PROMETHEUS_PORT": "99"},
            ["http://10.0.0.1:99/metrics"],
        ),
        (
            {**BASE, "OTEL_METRICS_EXPORTER": "Prometheus, otlp,none"},
            ["http://127.0.0.1:9464/metrics", "http/protobuf to http://c:4318/v1/metrics"],
        ),
        ({**BASE, **PROMETHEUS, "OTEL_SDK_DISABLED": "true"}, []),
    ],
)
def test_the_standard_variables_say_where(environment: dict[str, str], shown: list[str]) -> None:
    """An own variable wins over the general one; a page for Prometheus is made only where it is asked for."""
    assert [target.shown for target in metrics_targets(environment)] == shown


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"OTEL_METRICS_EXPORTER": "otlp,statsd"}, "OTEL_METRICS_EXPORTER=statsd: known are otlp, prometheus"),
        ({**PROMETHEUS, "OTEL_EXPORTER_PROMETHEUS_PORT": "0"}, "OTEL_EXPORTER_PROMETHEUS_PORT=0: a port is"),
        ({**PROMETHEUS, "OTEL_EXPORTER_PROMETHEUS_PORT": "x"}, "OTEL_EXPORTER_PROMETHEUS_PORT=x: a port is"),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "c:port"}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is no valid address"),
        ({**METRICS, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "x"}, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=x: known are"),
    ],
)
def test_what_cannot_be_used_is_an_error(environment: dict[str, str], said: str) -> None:
    """In the words of the variable."""
    with pytest.raises(UsageError) as error:
        metrics_targets(environment)
    assert said in str(error.value)


def test_only_who_names_metrics_has_asked_for_them() -> None:
    """An endpoint for every signal may well be a Jaeger, which takes traces only."""
    asked = [target.asked for given in (BASE, METRICS, {**BASE, **PROMETHEUS}) for target in metrics_targets(given)]
    assert asked == [False, True, True]


def test_credentials_are_not_shown() -> None:
    """Neither of the address nor anywhere else."""
    [target] = metrics_targets({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://ann:pw123@c:4318"})
    assert "pw123" not in target.shown
