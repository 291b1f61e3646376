"""Libraries of exporters are there when something is sent, and not before a first answer."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace.export import SpanExportResult

from traced_loop.errors import UsageError
from traced_loop.export.late_import import made_late
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.watched_exporter import WatchedExporter

from ..python_program import run_python
from .collector import collector

if TYPE_CHECKING:
    from pathlib import Path

HERE = Endpoint(url="http://127.0.0.1:9/v1/traces", protocol="http/protobuf", source="test")
ANSWERED = """
import sys
from traced_loop import Loop, ScriptedModel
from traced_loop.export import metric_pipeline, span_queue
metric_pipeline.IDLE_SECONDS = span_queue.IDLE_SECONDS = {idle}
result = Loop(ScriptedModel(["done"])).run("Go.")
slow = {{"requests", "google.protobuf", "opentelemetry.exporter.otlp.proto.http.trace_exporter"}} & set(sys.modules)
print(result.answer, len(slow))
"""


@pytest.fixture(autouse=True)
def _nothing_set(home: Path) -> None:
    """No variable of whoever runs the tests."""


@pytest.mark.parametrize("variables", [{}, {"OTEL_METRICS_EXPORTER": "none"}], ids=["with metrics", "spans"])
def test_the_first_answer_does_not_wait_for_what_sends(tmp_path: Path, variables: dict[str, str]) -> None:
    """And all that it left arrives."""
    with collector() as receiver:
        known = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, **variables}
        ended = run_python(ANSWERED.format(idle=600), tmp_path / "s", **known)
    assert (ended.code, ended.out) == (0, "done 0\n")
    assert "invoke_agent agent" in {span.name for span in receiver.spans}


def test_a_configuration_that_may_be_refused_is_read_before_the_run(tmp_path: Path) -> None:
    """Whatever else is said to the exporter than an address."""
    with collector() as receiver:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}
        ended = run_python(ANSWERED.format(idle=600), tmp_path / "s", **variables)
    assert (ended.code, ended.out) == (0, "done 3\n")


def test_it_is_imported_while_there_is_nothing_to_do(tmp_path: Path) -> None:
    """All of it, with what the exporter itself imports when it is made."""
    code = f"""{ANSWERED.format(idle=0.01)}
import time
until = time.monotonic() + 60
while "requests.sessions" not in sys.modules and time.monotonic() < until:
    time.sleep(0.01)
print("requests.sessions" in sys.modules)
"""
    with collector() as receiver:
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
    assert ended.out.endswith("True\n"), ended.err


def test_what_it_logs_is_heard_from_the_first_request_on(tmp_path: Path) -> None:
    """One line is said of a collector that is down, and none of the exporter's own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    known = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_BSP_SCHEDULE_DELAY": "1"}
    ended = run_python(ANSWERED.format(idle=600), tmp_path / "s", **known)
    assert [line[:40] for line in ended.err_lines] == [f"spans do not reach http://127.0.0.1:{port}"[:40]]


def test_variables_that_were_set_since_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may hold the credentials of another collector."""
    assert made_late(HERE, lambda: 1) == 1
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=another's")
    with pytest.raises(UsageError, match="were set after it was chosen to send to"):
        made_late(HERE, lambda: 1)


def test_an_exporter_that_was_ended_before_it_was_made_is_never_made() -> None:
    """What is given to it then is not taken."""
    made: list[Any] = []
    exporter = WatchedExporter(made.append)  # type: ignore[arg-type]
    exporter.shutdown()
    assert (exporter.export(()), made) == (SpanExportResult.FAILURE, [])
