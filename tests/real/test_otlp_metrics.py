"""Metrics against a real OTLP receiver in a process of its own: they arrive over HTTP and gRPC, or cost one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from traced_loop import names

from ..hangs import HANGS
from ..python_program import ONE_CALL, run_python
from .test_otlp_delivery import PROTOCOLS, endpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .received_telemetry import OtlpReceiver

pytestmark = pytest.mark.real


@PROTOCOLS
def test_spans_and_metrics_of_a_short_script_arrive_by_one_variable(
    tmp_path: Path, otlp_receiver: OtlpReceiver, protocol: str
) -> None:
    """The counts are there when the process ends, with the service's name."""
    ended = run_python(f"{ONE_CALL}\none_call()", tmp_path / "s", **endpoint(otlp_receiver, protocol))
    assert (ended.code, ended.err) == (0, "")
    otlp_receiver.wait_for_spans(14)
    text = json.dumps(otlp_receiver.records("metrics"))
    assert all(name in text for name in (names.METRIC_RUN_COUNT, names.METRIC_RUN_ACTIVE, names.METRIC_TOKEN_USAGE))
    assert '"traced_loop"' in text


@PROTOCOLS
@pytest.mark.parametrize("behaviour", ["refuse", "hang"])
def test_a_receiver_in_trouble_that_was_asked_for_costs_one_line(
    tmp_path: Path, start_otlp_receiver: Callable[..., OtlpReceiver], protocol: str, behaviour: str
) -> None:
    """Where the metrics were named; the end of the process waits for neither the receiver nor its exporter."""
    receiver = start_otlp_receiver(behaviour=behaviour)
    url = receiver.grpc_endpoint if protocol == "grpc" else f"{receiver.http_endpoint}/v1/metrics"
    variables = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": url, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": protocol}
    variables["OTEL_EXPORTER_OTLP_TIMEOUT"] = f"{HANGS:g}"
    code = f"""{ONE_CALL}
from traced_loop.setup import close
print(one_call().answer)
close()
"""
    ended = run_python(code, tmp_path / "s", **variables)
    assert (ended.code, ended.out) == (0, "3\n")
    assert len(ended.err_lines) == 1
    assert ended.err.startswith("metrics do not reach ")
