"""The server of a tool learns the trace of the call, and the SDK adds no span of its own to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..python_program import run_python
from .servers import ODD, Log, served

PROGRAM = """
import json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from traced_loop import Loop, McpServer, ScriptedModel
from traced_loop.models.scripted import calls

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
with OPEN as server:
    model = ScriptedModel([calls(("echo", {"text": "a"})), calls(("break", {})), "done"])
    Loop(model, server.tools()).run("Go.")
found = spans.get_finished_spans()
tools = [span for span in found if span.name == "execute_tool echo"]
print(json.dumps({
    "names": sorted({span.name for span in found}),
    "traceparent": "00-{0.trace_id:032x}-{0.span_id:016x}-{0.trace_flags:02x}".format(tools[0].context),
    "all": str([(span.attributes, span.status.description, span.events) for span in found]),
}))
"""


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_trace_of_a_call_arrives_at_its_server(tmp_path: Path, way: str) -> None:
    """In ``_meta`` of the request, and over HTTP in a header too: the span of the call, sampled as it is."""
    log = Log(tmp_path)
    if way == "stdio":
        opened = f"McpServer.stdio(sys.executable, {ODD!r}, {str(log.path)!r}, 'stdio')"
        ended = run_python(PROGRAM.replace("OPEN", opened), tmp_path / "store")
    else:
        with served(log) as (url, _):
            ended = run_python(PROGRAM.replace("OPEN", f"McpServer.http({url!r})"), tmp_path / "store")
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    (seen,) = log.entries("echo")

    assert seen["meta"]["traceparent"] == said["traceparent"]
    if way == "http":
        assert seen["headers"]["traceparent"] == said["traceparent"]
    assert "execute_tool break" in said["names"]
    assert [name for name in said["names"] if "MCP" in name and "tools/call" in name] == []
    assert "it broke" not in said["all"]
