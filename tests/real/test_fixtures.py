"""The servers of `tests/real` do what the tests that use them rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import openai
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from .aimock import asks_for, fails, in_order, says, tool_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from opentelemetry.sdk.trace.export import SpanExporter

    from .aimock import Aimock
    from .received_telemetry import OtlpReceiver

pytestmark = pytest.mark.real

MODEL = "gpt-test"
PROTOBUF = {"Content-Type": "application/x-protobuf"}
LOOKUP: Any = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}


def chat(server: Aimock, messages: list[Any], *, max_retries: int = 0) -> Any:
    """One request through the official client."""
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=max_retries) as client:
        return client.chat.completions.create(model=MODEL, messages=messages, tools=[LOOKUP])


def user(text: str) -> dict[str, str]:
    """A user's message."""
    return {"role": "user", "content": text}


def tool_result(call_id: str, content: str) -> dict[str, str]:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def send_three_spans(exporter: SpanExporter) -> None:
    """Export a root, a child and a failed grandchild."""
    provider = TracerProvider(resource=Resource.create({"service.name": "sender"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("scope", "1.2")
    with tracer.start_as_current_span("root"), tracer.start_as_current_span("child", attributes={"n": 3}):
        tracer.start_span("leaf", attributes={"list": ["a", "b"], "ok": True, "cost": 0.5}).end()
    provider.shutdown()


def test_a_tool_call_and_its_result_take_two_rounds(start_aimock: Callable[..., Aimock]) -> None:
    """The first answer asks for a tool, the second sees the result in its request and ends in text."""
    server = start_aimock(in_order(asks_for(tool_call("call_1", "lookup", {"id": 7})), says("seven")))
    first = chat(server, [user("look")])
    [call] = first.choices[0].message.tool_calls
    assert (call.id, call.function.name, json.loads(call.function.arguments)) == ("call_1", "lookup", {"id": 7})
    assert first.choices[0].finish_reason == "tool_calls"
    history = [user("look"), first.choices[0].message, tool_result("call_1", "7")]
    second = chat(server, history)
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("seven", "stop")
    assert server.requests()[1]["messages"][-1] == tool_result("call_1", "7")


def test_one_answer_asks_for_parallel_calls_with_scripted_usage(start_aimock: Callable[..., Aimock]) -> None:
    """Calls come in the scripted order with their ids, and the usage is the scripted one."""
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    calls = [tool_call(f"call_{n}", "lookup", {"id": n}) for n in range(3)]
    server = start_aimock(in_order(asks_for(*calls, usage=usage)))
    answer = chat(server, [user("look at three")])
    assert [call.id for call in answer.choices[0].message.tool_calls] == ["call_0", "call_1", "call_2"]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (11, 5)


def test_arguments_that_are_not_json_arrive_as_they_were_scripted(start_aimock: Callable[..., Aimock]) -> None:
    """A truncated call can be served: broken arguments and finish reason `length`."""
    broken = asks_for(tool_call("call_1", "lookup", '{"id": '), finishReason="length")
    choice = chat(start_aimock(in_order(broken)), [user("look")]).choices[0]
    assert (choice.finish_reason, choice.message.tool_calls[0].function.arguments) == ("length", '{"id": ')


def test_a_busy_answer_says_when_to_retry(start_aimock: Callable[..., Aimock]) -> None:
    """A 429 carries the scripted Retry-After, and the next request succeeds."""
    server = start_aimock(in_order(fails(429, "slow down", retry_after=7), says("now")))
    with pytest.raises(openai.RateLimitError) as busy:
        chat(server, [user("hi")])
    assert busy.value.response.headers["retry-after"] == "7"
    assert chat(server, [user("hi")]).choices[0].message.content == "now"
    assert server.statuses() == [429, 200]


def test_the_official_client_retries_after_a_server_error(start_aimock: Callable[..., Aimock]) -> None:
    """A 500 and then a success look like one success to a client that retries."""
    server = start_aimock(in_order(fails(500, "broken"), says("whole")))
    assert chat(server, [user("hi")], max_retries=1).choices[0].message.content == "whole"
    assert server.statuses() == [500, 200]


def test_a_request_beyond_the_script_is_not_found(start_aimock: Callable[..., Aimock]) -> None:
    """A loop that asks more often than was scripted gets 404, which no client retries."""
    server = start_aimock(in_order(says("only this")))
    chat(server, [user("hi")])
    with pytest.raises(openai.NotFoundError):
        chat(server, [user("hi")], max_retries=2)
    assert server.statuses() == [200, 404]


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_spans_arrive_with_ids_attributes_and_resource(otlp_receiver: OtlpReceiver, transport: str) -> None:
    """Three spans sent over either transport are read back as they were sent."""
    exporters: dict[str, Callable[[], SpanExporter]] = {
        "http": lambda: HttpExporter(endpoint=f"{otlp_receiver.http_endpoint}/v1/traces"),
        "grpc": lambda: GrpcExporter(endpoint=otlp_receiver.grpc_endpoint, insecure=True),
    }
    send_three_spans(exporters[transport]())
    leaf, child, root = otlp_receiver.wait_for_spans(3)
    assert (leaf.name, child.name, root.name) == ("leaf", "child", "root")
    assert (leaf.parent_span_id, child.parent_span_id, root.parent_span_id) == (child.span_id, root.span_id, None)
    assert {leaf.trace_id, child.trace_id} == {root.trace_id}
    assert (leaf.attributes, child.attributes) == ({"list": ["a", "b"], "ok": True, "cost": 0.5}, {"n": 3})
    assert (root.kind, root.status, root.scope_name, root.scope_version) == ("INTERNAL", "UNSET", "scope", "1.2")
    assert (root.resource["service.name"], root.transport) == ("sender", transport)


def test_a_refusing_receiver_answers_that_it_is_unavailable(
    start_otlp_receiver: Callable[..., OtlpReceiver],
) -> None:
    """Both transports get the retryable answer of an overloaded collector, and nothing is recorded."""
    receiver = start_otlp_receiver(behaviour="refuse")
    request = Request(f"{receiver.http_endpoint}/v1/traces", data=b"", headers=PROTOBUF)
    with pytest.raises(HTTPError) as over_http:
        urlopen(request, timeout=60)
    over_http.value.close()
    with (
        grpc.insecure_channel(receiver.grpc_endpoint.removeprefix("http://")) as channel,
        pytest.raises(grpc.RpcError) as over_grpc,
    ):
        TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=5)
    assert (over_http.value.code, over_grpc.value.code()) == (503, grpc.StatusCode.UNAVAILABLE)
    assert receiver.spans() == []


def test_a_hanging_receiver_never_answers(start_otlp_receiver: Callable[..., OtlpReceiver]) -> None:
    """An exporter waits for its own time-out, and the receiver still ends with the test."""
    receiver = start_otlp_receiver(behaviour="hang")
    began = time.monotonic()
    send_three_spans(HttpExporter(endpoint=f"{receiver.http_endpoint}/v1/traces", timeout=0.2))
    assert time.monotonic() - began >= 0.5
    assert receiver.spans() == []


def test_a_receiver_comes_back_on_its_port(start_otlp_receiver: Callable[..., OtlpReceiver]) -> None:
    """A collector can go away and return at the same address, for what is delivered later."""
    first = start_otlp_receiver()
    first.stop()
    second = start_otlp_receiver(http_port=first.http_port, grpc_port=first.grpc_port)
    assert (second.http_endpoint, second.grpc_endpoint) == (first.http_endpoint, first.grpc_endpoint)
    send_three_spans(GrpcExporter(endpoint=first.grpc_endpoint, insecure=True))
    assert (len(first.spans()), len(second.wait_for_spans(3))) == (0, 3)


@pytest.mark.parametrize(("ci", "exit_status", "summary"), [("true", 1, "1 failed"), ("", 0, "1 skipped")])
def test_a_skipped_real_test_is_a_failure_in_ci_only(tmp_path: Path, ci: str, exit_status: int, summary: str) -> None:
    """Without aimock its tests are skipped with the way to get it; where CI=true the same is a failure."""
    one_test = f"{__file__}::{test_a_request_beyond_the_script_is_not_found.__name__}"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", one_test],
        env={**os.environ, "CI": ci, "TRACED_LOOP_AIMOCK": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ended.returncode, summary in ended.stdout) == (exit_status, True), ended.stdout
    assert f"no aimock in {tmp_path}" in ended.stdout
