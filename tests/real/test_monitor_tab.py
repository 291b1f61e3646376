"""The stack of `deploy/`: metrics through the real Collector into Prometheus, and Jaeger's Monitor tab from there."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.series import all_series, series
from traced_loop.telemetry.metric_table import METRICS

from ..python_program import ONE_CALL, run_python
from .child_process import poll
from .collector import CollectorMissingError, find_collector, running_collector
from .jaeger import Jaeger, JaegerMissingError, JaegerPorts, find_jaeger, get_json, running_jaeger
from .prometheus import Prometheus, PrometheusMissingError, find_program, running_prometheus

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real

RUNS = f"{ONE_CALL}\none_call(); one_call()"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, Jaeger]]:
    """Two runs have been sent to the Collector with the one variable that sends everything."""
    folder = tmp_path_factory.mktemp("stack")
    try:
        find_program("prometheus")
        find_jaeger()
        find_collector()
    except (PrometheusMissingError, JaegerMissingError, CollectorMissingError) as missing:
        pytest.skip(str(missing))
    ports = JaegerPorts.free()
    with (
        running_collector(
            folder, ports.otlp_grpc, COLLECTOR_AFTER_ROOT="1s", COLLECTOR_KEEP_PERCENT="100"
        ) as collector,
        running_prometheus(folder, {"runs": collector.run_metrics}) as prometheus,
        running_jaeger(folder, ports=ports, JAEGER_PROMETHEUS=prometheus.url) as jaeger,
    ):
        ended = run_python(RUNS, folder / "store", OTEL_EXPORTER_OTLP_ENDPOINT=collector.http_endpoint)
        assert (ended.code, ended.err) == (0, "")
        prometheus.wait_for("sum(traced_loop_run_count_total) == 2")
        yield prometheus, jaeger


def test_metrics_have_the_same_names_by_either_way(stack: tuple[Prometheus, Jaeger]) -> None:
    """Through the Collector as on the process's own page; the service is the job."""
    prometheus, _ = stack
    found = {each["metric"]["__name__"] for each in prometheus.query('{__name__=~"(traced_loop|gen_ai).+"}')}
    assert found <= dict(all_series()).keys()
    never = {"attempt", "chunk", "continued", "cost", "late", "repetition"}  # nothing of the kind has happened
    missing = [m.name for m in METRICS if not any(each.startswith(series(m)) for each in found)]
    assert [name for name in missing if not never & set(re.split(r"[._]", name))] == []
    [runs] = prometheus.query('traced_loop_run_count_total{traced_loop_run_stop_reason="final_answer"}')
    assert (runs["metric"]["job"], runs["value"][1]) == ("traced_loop", "2")


@pytest.mark.parametrize("asked", ["calls", "latencies?quantile=0.95", "errors"])
def test_the_monitor_tab_has_data(stack: tuple[Prometheus, Jaeger], asked: str) -> None:
    """What the tab asks: calls, latencies and errors of the service's operations, of kind internal."""
    _, jaeger = stack

    def points() -> list[Any]:
        now = round(time.time() * 1000)
        query = (
            f"service=traced_loop&endTs={now}&lookback=600000&step=5000&ratePer=60000&spanKind=internal&spanKind=client"
        )
        found = get_json(f"{jaeger.url}/api/metrics/{asked}{'&' if '?' in asked else '?'}{query}&groupByOperation=true")
        return [point for metric in found["metrics"] for point in metric["metricPoints"]]

    if asked == "errors":
        assert points() is not None  # these two runs had none
        return
    poll(points, within=60, otherwise=lambda: f"no {asked}")
