"""Metrics arrive, or are told of once, and never hold a process up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from traced_loop import names

from ..python_program import ONE_CALL, run_python
from .answering_server import Answering, answering
from .collector import collector

if TYPE_CHECKING:
    from pathlib import Path

PROTOBUF = {"content-type": "application/x-protobuf"}
TAKEN = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"


def metrics_of(server: Answering) -> dict[str, str]:
    """Name and service of every metric that came in the last request."""
    request = ExportMetricsServiceRequest.FromString(server.bodies[-1])
    return {
        metric.name: next(a.value.string_value for a in of.resource.attributes if a.key == "service.name")
        for of in request.resource_metrics
        for scope in of.scope_metrics
        for metric in scope.metrics
    }


def test_a_short_process_sends_its_metrics_when_it_ends(tmp_path: Path) -> None:
    """Without a flush, with the headers of the standard variables, under the name of the spans."""
    with answering(200, PROTOBUF) as server:
        variables = {TAKEN: server.url, "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "api-key=k"}
        ended = run_python(f"{ONE_CALL}\none_call()", tmp_path / "s", **variables)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert server.headers[-1]["api-key"] == "k"
    found = metrics_of(server)
    assert {names.METRIC_RUN_COUNT, names.METRIC_TOOL_DURATION, names.METRIC_RUN_ACTIVE} <= set(found)
    assert set(found.values()) == {"traced_loop"}


def test_a_receiver_of_traces_only_is_nothing_to_complain_about(tmp_path: Path) -> None:
    """Jaeger answers 404 to metrics: nobody has asked for them by name."""
    code = f"{ONE_CALL}\nfrom traced_loop.setup import close\none_call()\nprint(close(30))"
    with collector() as spans, answering(404) as metrics:
        variables = {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{spans.endpoint}/v1/traces",
            "OTEL_EXPORTER_OTLP_ENDPOINT": metrics.url.removesuffix("/v1/traces"),
        }
        ended = run_python(code, tmp_path / "s", **variables)
    assert (ended.code, ended.out, ended.err) == (0, "True\n", "")
    assert (len(spans.spans), len(metrics.bodies)) == (14, 1)


def test_a_receiver_that_was_asked_for_and_refuses_costs_one_line(tmp_path: Path) -> None:
    """The run goes on; its result is the same."""
    code = f"{ONE_CALL}\nfrom traced_loop.setup import close\nprint(one_call().answer, close(30))"
    with answering(401) as server:
        ended = run_python(code, tmp_path / "s", **{TAKEN: server.url})
    assert (ended.code, ended.out, len(ended.err_lines)) == (0, "3 False\n", 1)
    assert ended.err.startswith("metrics do not reach http/protobuf to http://127.0.0.1:")


def test_two_receivers_that_hang_are_waited_for_together(tmp_path: Path) -> None:
    """Spans and metrics wait at the same time: eight seconds in all, and some for whatever else the machine does."""
    code = f"""{ONE_CALL}
import time
from traced_loop.setup import close
one_call()
began = time.monotonic()
close(8)
print(time.monotonic() - began)
"""
    with collector() as hanging:
        hanging.may_answer.clear()
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=hanging.endpoint)
        hanging.may_answer.set()
    assert ended.code == 0
    assert 7.9 <= float(ended.out) < 15.9, "one after the other is sixteen"


@pytest.mark.parametrize("variables", [{}, {TAKEN: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}])
def test_what_nobody_asked_for_costs_nothing(tmp_path: Path, variables: dict[str, str]) -> None:
    """No thread, no import of the SDK, no instrument."""
    code = f"""{ONE_CALL}
import sys, threading
one_call()
print([t.name for t in threading.enumerate() if "metrics" in t.name or "OtelPeriodic" in t.name])
print("opentelemetry.sdk.metrics" in sys.modules)
"""
    ended = run_python(code, tmp_path / "s", **variables)
    assert (ended.out, ended.err) == ("[]\nFalse\n", "")


def test_the_applications_provider_is_used_and_nothing_is_added(tmp_path: Path) -> None:
    """Whatever the environment says: what is sent, and how often, is the application's business."""
    code = f"""{ONE_CALL}
import threading
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
provider = MeterProvider([reader])
metrics.set_meter_provider(provider)
one_call(); one_call()
data = reader.get_metrics_data().resource_metrics[0].scope_metrics
print([scope.scope.name for scope in data], metrics.get_meter_provider() is provider)
[runs] = [m for m in data[0].metrics if m.name == "traced_loop.run.count"]
print(sum(point.value for point in runs.data.data_points))
print([t.name for t in threading.enumerate() if "metrics" in t.name or "OtelPeriodic" in t.name])
"""
    ended = run_python(code, tmp_path / "s", **{TAKEN: "http://127.0.0.1:1"})
    assert (ended.out, ended.err) == ("['traced_loop'] True\n2\n[]\n", "")


def test_an_exporter_that_is_not_known_is_an_error_before_the_run(tmp_path: Path) -> None:
    """Nothing would arrive, and nobody would notice."""
    ended = run_python(f"{ONE_CALL}\none_call()", tmp_path / "s", OTEL_METRICS_EXPORTER="statsd")
    assert ended.code == 1
    assert ended.err_lines[-1].startswith("traced_loop.errors.UsageError: OTEL_METRICS_EXPORTER=statsd: known are")
