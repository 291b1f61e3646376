"""Runs against a real OTLP receiver in a process of its own: every span arrives, over HTTP and over gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..command_line import program
from ..python_program import ONE_CALL, run_python

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .received_telemetry import OtlpReceiver, ReceivedSpan

pytestmark = pytest.mark.real
PROTOCOLS = pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])

ODD = """
from traced_loop import Budget, Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="read")
def boom() -> str:
    "Fail with a text that is no Unicode."
    raise ValueError("bad \\ud83e" * 1000)

@tool(effect="read")
def undecodable() -> str:
    "Give bytes that are no text."
    return b"\\xff\\xfe\\x00".decode(errors="surrogateescape")

@tool(effect="read")
def big() -> str:
    "Give eleven megabytes."
    return '{"rows":[' + "1," * 5_500_000 + "1]}"

@tool(effect="read", trace=["q"])
def look(q: str) -> str:
    "Look something up."
    return "found\\x00nothing"

script = [
    calls(
        ("look\\ud83e", '{"q":"\\\\ud83e"}'),
        ("boom", {}),
        ("undecodable", {}),
        ("big", {}),
        ("look", {"q": "x" * 900_000}),
    ),
    {
        "choices": [{"finish_reason": "stop", "message": {"content": "done \\ud83e"}}],
        "model": "m\\ud83e" * 9000,
        "id": "\\x00",
    },
]
names = {"name": "agent\\ud83e", "session_id": "s\\ud83e"}
model = ScriptedModel(script, name="m\\ud83e")
loop = Loop(model, [boom, undecodable, big, look], budget=Budget(tokens=None), **names)
result = loop.run("x" * 2_000_000 + "\\ud83e")
print(result.stop_reason, result.receipt.spans_started)
"""

MANY = """
from traced_loop import Budget, Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="read", trace=["a", "b", "c"])
def note(a: str, b: str, c: str) -> str:
    "Take three texts."
    return a

script = [calls(*(("note", {"a": "x" * 5000, "b": str(n), "c": "y"}) for n in range(30)))] * 20 + ["done"]
budget = Budget(steps=30, tool_calls=1000, tokens=None)
result = Loop(ScriptedModel(script), [note], budget=budget, repetition="observe").run("go")
print(result.stop_reason, result.receipt.spans_started)
"""

WORST = """
from traced_loop import names
from traced_loop.export.otlp import build_provider
from traced_loop.telemetry.span_attributes import VITAL
from traced_loop.telemetry.spans import Telemetry

pipeline = build_provider("otlp")
telemetry = Telemetry(outlet=pipeline.outlet)
full = {**dict.fromkeys(sorted(VITAL), "\u20ac" * 80), **{f"key{n}": "\u20ac" * 1_300 for n in range(37)}}
with telemetry.run(telemetry.scope("run-1"), "run", {}):
    for _ in range(600):
        with telemetry.span("n" * 200, full, links=[(1, n + 1) for n in range(40)]) as span:
            span.set({f"late{n}": "x" * 4_096 for n in range(30)})
            span.fail("E" * 300, "x" * 4_096)
print(pipeline.close(60), pipeline.accepted, pipeline.refused)
"""


def endpoint(receiver: OtlpReceiver, protocol: str) -> dict[str, str]:
    """The variables that send spans there."""
    url = receiver.grpc_endpoint if protocol == "grpc" else receiver.http_endpoint
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}


def everything_of(spans: list[ReceivedSpan], count: int) -> None:
    """One trace, each span once, every parent there, all over."""
    known = {span.span_id for span in spans}
    assert (len(spans), len(known), len({span.trace_id for span in spans})) == (count, count, 1)
    assert [span.name for span in spans if span.parent_span_id not in {None, *known}] == []
    assert all(0 < span.start_ns <= span.end_ns for span in spans)


@PROTOCOLS
@pytest.mark.parametrize(
    "end", ["", "raise SystemExit(0)", "raise RuntimeError('boom')"], ids=["normal", "exit", "error"]
)
def test_every_span_of_a_short_script_arrives_once(
    tmp_path: Path, otlp_receiver: OtlpReceiver, protocol: str, end: str
) -> None:
    """Without a flush, however it ends, under the documented service name."""
    ended = run_python(f"{ONE_CALL}\none_call()\n{end}", tmp_path / "s", **endpoint(otlp_receiver, protocol))
    spans = otlp_receiver.wait_for_spans(14)
    everything_of(spans, 14)
    assert {span.resource["service.name"] for span in spans} == {"traced_loop"}
    assert {span.transport for span in spans} == {"grpc" if protocol == "grpc" else "http"}
    assert ended.err == "" or "boom" in end


@PROTOCOLS
def test_odd_texts_and_huge_values_cost_no_span(tmp_path: Path, otlp_receiver: OtlpReceiver, protocol: str) -> None:
    """Surrogates, NUL, 11 MB of a result: all arrive, valid and bounded, and nothing is logged."""
    ended = run_python(ODD, tmp_path / "s", **endpoint(otlp_receiver, protocol))
    assert (ended.code, ended.err) == (0, "")
    stop, started = ended.out.split()
    spans = otlp_receiver.wait_for_spans(int(started))
    assert stop == "final_answer"
    everything_of(spans, int(started))
    for span in spans:
        assert len(span.name.encode()) <= 128
        assert len(span.status_message.encode()) <= 256
        assert all(len(str(value).encode()) <= 5000 for value in span.attributes.values())
        assert span.dropped_attributes == 0


@PROTOCOLS
def test_hundreds_of_spans_arrive_in_several_requests(
    tmp_path: Path, otlp_receiver: OtlpReceiver, protocol: str
) -> None:
    """More than the queue's batch, in one short run."""
    ended = run_python(MANY, tmp_path / "s", **endpoint(otlp_receiver, protocol))
    stop, started = ended.out.split()
    assert (ended.code, ended.err, stop) == (0, "", "final_answer")
    everything_of(otlp_receiver.wait_for_spans(int(started), within=60), int(started))


@PROTOCOLS
def test_a_queue_full_of_the_largest_spans_arrives(tmp_path: Path, otlp_receiver: OtlpReceiver, protocol: str) -> None:
    """Nineteen megabytes; a gRPC server refuses a message of four, and with it each span inside."""
    ended = run_python(WORST, tmp_path / "s", **endpoint(otlp_receiver, protocol))
    assert (ended.code, ended.out, ended.err) == (0, "True 601 0\n", "")
    spans = otlp_receiver.wait_for_spans(601, within=60)
    everything_of(spans, 601)
    assert {(len(span.links), len(span.attributes)) for span in spans if span.name != "run"} == {(32, 60)}


@PROTOCOLS
@pytest.mark.parametrize(
    ("behaviour", "answer"), [("accept", "delivered 14 0 0"), ("refuse", "failed 0 14 0"), ("hang", "pending 0 0 14")]
)
def test_the_receipt_says_what_arrived(
    tmp_path: Path, start_otlp_receiver: Callable[..., OtlpReceiver], protocol: str, behaviour: str, answer: str
) -> None:
    """As soon as it is known: what a receiver that hangs has not answered still waits."""
    receiver = start_otlp_receiver(behaviour=behaviour)
    code = f"""{ONE_CALL}
from traced_loop.setup import close
result = one_call()
close({1 if behaviour == "hang" else 30})
d = result.receipt.delivery
print(d.state, d.accepted, d.refused, d.waiting)
"""
    ended = run_python(code, tmp_path / "s", **endpoint(receiver, protocol))
    assert (ended.code, ended.out) == (0, f"{answer}\n")
    assert len(receiver.spans()) == (14 if behaviour == "accept" else 0)


@PROTOCOLS
@pytest.mark.parametrize("behaviour", ["refuse", "hang"])
def test_a_receiver_in_trouble_costs_one_line_and_no_record(
    tmp_path: Path, start_otlp_receiver: Callable[..., OtlpReceiver], protocol: str, behaviour: str
) -> None:
    """The run and the local store are whole; the process ends."""
    receiver = start_otlp_receiver(behaviour=behaviour)
    code = f"{ONE_CALL}\nresult = one_call()\nprint(result.answer, result.receipt.spans_recorded)"
    ended = run_python(code, tmp_path / "s", **endpoint(receiver, protocol))
    assert (ended.code, ended.out, len(ended.err_lines)) == (0, "3 14\n", 1)
    assert ended.err.startswith("spans do not reach http://127.0.0.1:")
    assert receiver.spans() == []


@pytest.mark.usefixtures("home")
@PROTOCOLS
def test_the_doctors_test_trace_arrives(
    otlp_receiver: OtlpReceiver, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One span, found by its run id like any other."""
    endpoint = otlp_receiver.grpc_endpoint if protocol == "grpc" else otlp_receiver.http_endpoint
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)

    ended = program("doctor", "--otlp", endpoint)

    assert ended.code == 0, ended.out + ended.err
    (span,) = otlp_receiver.wait_for_spans(1, within=60)
    assert (span.name, span.transport) == ("traced_loop.doctor", protocol.partition("/")[0])
    assert "traced_loop.run.id" in span.attributes
