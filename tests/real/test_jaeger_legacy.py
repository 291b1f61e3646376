"""Runs in the real Jaeger by the ways of version 1: thrift over UDP and over HTTP, found and read through its API."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanContext, TraceFlags

from traced_loop import Loop, RunResult, ScriptedModel, names, tool
from traced_loop.export.jaeger.environment import jaeger_exporter
from traced_loop.testing import calls

from .child_process import poll
from .jaeger import Jaeger, JaegerMissingError, running_jaeger, tags_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traced_loop.export.jaeger.exporter import JaegerExporter

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        importlib.util.find_spec("jaeger_client") is None,
        reason="needs the extra: pip install 'traced-loop[jaeger-client]'",
    ),
]
WAYS = ["udp", "http"]
FAR = SpanContext(2**127 + 5, 2**63 + 7, is_remote=True, trace_flags=TraceFlags(1))


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """One Jaeger with the shipped configuration for all tests of this file."""
    try:
        with running_jaeger(tmp_path_factory.mktemp("jaeger")) as running:
            yield running
    except JaegerMissingError as missing:
        pytest.skip(str(missing))


class Sending:
    """A provider of the application's that sends to Jaeger the old way."""

    def __init__(self, jaeger: Jaeger, way: str, service: str) -> None:
        self.exporter, _ = _exporter(jaeger, way)
        self.provider = TracerProvider(
            resource=Resource({"service.name": service, "deployment.environment.name": "old"}), shutdown_on_exit=False
        )
        self.provider.add_span_processor(BatchSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("shop", "2.1")

    def sent(self) -> JaegerExporter:
        """Send what is left."""
        self.provider.shutdown()
        return self.exporter


def _exporter(jaeger: Jaeger, way: str) -> tuple[JaegerExporter, str]:
    by_way = {
        "udp": {
            "OTEL_EXPORTER_JAEGER_AGENT_HOST": "127.0.0.1",
            "OTEL_EXPORTER_JAEGER_AGENT_PORT": str(jaeger.ports.thrift_udp),
        },
        "http": {"OTEL_EXPORTER_JAEGER_ENDPOINT": f"http://127.0.0.1:{jaeger.ports.thrift_http}"},
    }
    return jaeger_exporter(by_way[way])


def run(sending: Sending) -> RunResult:
    """A run of two steps whose tool works and fails, with library spans inside."""

    @tool(effect="read")
    def look(order: int) -> str:
        """Look an order up."""
        with sending.tracer.start_as_current_span("query", links=[Link(FAR)]) as span:
            span.add_event("retry", {"attempt": 2})
        if order == 2:
            raise LookupError("no such order")
        return "sent"

    model = ScriptedModel([calls(("look", {"order": 1}), ("look", {"order": 2})), "One was sent."])
    return Loop(model, [look], tracer_provider=sending.provider, store=None).run("Where are orders 1 and 2?")


@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_found_by_its_id_and_whole(jaeger: Jaeger, way: str) -> None:
    """Search by run id gives the run's trace, with every span that was sent, each under its parent."""
    sending = Sending(jaeger, way, f"found-{way}")
    result = run(sending)
    exporter = sending.sent()

    spans = jaeger.wait_for_spans(result.trace_id, exporter.accepted)

    assert (exporter.refused, exporter.trimmed) == (0, 0)
    assert len(spans) == exporter.accepted
    assert jaeger.find({names.RUN_ID: result.run_id}, service=f"found-{way}") == {result.trace_id}
    assert jaeger.find({names.RUN_STOP_REASON: "final_answer"}, service=f"found-{way}") == {result.trace_id}
    by_id = {span["spanID"]: span["operationName"] for span in spans}
    parents = {(span["operationName"], by_id.get(_parent(span))) for span in spans}
    assert {
        ("invoke_agent agent", None),
        ("traced_loop.step", "invoke_agent agent"),
        ("chat scripted", "traced_loop.step"),
        ("traced_loop.validate_call", "traced_loop.step"),
        ("execute_tool look", "traced_loop.step"),
        ("query", "execute_tool look"),
    } <= parents


@pytest.mark.parametrize("way", WAYS)
def test_every_part_of_a_span_arrives(jaeger: Jaeger, way: str) -> None:
    """Kinds, status, typed tags, links, events by name, scope and resource, as Jaeger gives them out."""
    sending = Sending(jaeger, way, f"parts-{way}")
    result = run(sending)

    spans = jaeger.wait_for_spans(result.trace_id, _count(sending))

    chat, failed, query = _one(spans, "chat"), _failed(spans), _one(spans, "query")
    assert tags_of(chat)["span.kind"] == "client"
    assert tags_of(failed) | {"error": True, "otel.status_code": "ERROR", "span.kind": "internal"} == tags_of(failed)
    assert tags_of(failed)[names.ERROR_TYPE]
    assert "error" not in tags_of(query)
    assert {tag["key"]: tag["type"] for tag in chat["tags"]}[names.STEP_INDEX] == "int64"
    assert tags_of(chat)["otel.scope.name"] == names.SCOPE
    assert (tags_of(query)["otel.scope.name"], tags_of(query)["otel.scope.version"]) == ("shop", "2.1")
    [event] = query["logs"]
    assert tags_of(event) == {"event": "retry", "attempt": 2}
    assert {(ref["refType"], ref["traceID"], ref["spanID"]) for ref in query["references"]} >= {
        ("FOLLOWS_FROM", format(FAR.trace_id, "032x"), format(FAR.span_id, "016x"))
    }
    assert query["process"]["serviceName"] == f"parts-{way}"
    assert tags_of(query["process"])["deployment.environment.name"] == "old"


def test_jaeger_reads_statuses_for_its_search(jaeger: Jaeger) -> None:
    """`error=true` finds the run with a failed tool, and not the one without."""
    failing, fine = Sending(jaeger, "udp", "statuses"), Sending(jaeger, "udp", "statuses")
    failed = run(failing)
    answered = Loop(ScriptedModel(["42"]), tracer_provider=fine.provider, store=None).run("What is six times seven?")
    jaeger.wait_for_spans(failed.trace_id, _count(failing))
    jaeger.wait_for_spans(answered.trace_id, _count(fine))

    assert jaeger.find({"error": "true"}, service="statuses") == {failed.trace_id}


@pytest.mark.parametrize("way", WAYS)
def test_a_long_span_is_trimmed_for_udp_only(jaeger: Jaeger, way: str) -> None:
    """A packet of the greatest length that is sent is one that Jaeger takes; what was cut says so, and is counted."""
    sending = Sending(jaeger, way, f"long-{way}")
    long = {"prompt": "p" * 60_000, "answer": "a" * 60_000, "kept": True}
    with sending.tracer.start_as_current_span("chat", attributes=long) as span:
        trace_id = format(span.get_span_context().trace_id, "032x")
    exporter = sending.sent()

    [arrived] = jaeger.wait_for_spans(trace_id, 1)

    tags, cut = tags_of(arrived), way == "udp"
    assert exporter.trimmed == int(cut)
    assert tags.get(names.EXPORT_TRIMMED, 0) == 2 * cut
    assert [tags[key].endswith("[cut: 60000 bytes]") for key in ("prompt", "answer")] == [cut, cut]
    assert len(tags["prompt"]) + len(tags["answer"]) > (64_000 if cut else 119_999)
    assert tags["kept"] is True


def test_what_jaeger_refuses_is_counted(jaeger: Jaeger) -> None:
    """Badger takes no value of more than 65,000 bytes; Jaeger answers 500, and the spans count as refused."""
    sending = Sending(jaeger, "http", "refused")
    sending.tracer.start_span("chat", attributes={"prompt": "p" * 65_000}).end()

    exporter = sending.sent()

    assert (exporter.accepted, exporter.refused) == (0, 1)


def test_a_burst_of_packets_arrives_whole(jaeger: Jaeger) -> None:
    """Two thousand spans in some forty full packets: encoding spaces them, so that the receiver keeps up."""
    sending = Sending(jaeger, "udp", "burst")
    spans = [sending.tracer.start_span(str(place), attributes={"text": "x" * 1_200}) for place in range(2_000)]
    for span in spans:
        span.end()
    exporter = sending.sent()

    def arrived() -> int:
        found = [jaeger.spans(format(span.get_span_context().trace_id, "032x")) for span in (spans[0], spans[-1])]
        return sum(map(len, found))

    assert exporter.accepted == 2_000
    poll(lambda: arrived() == 2, within=60, otherwise=lambda: f"{arrived()} of 2")
    missing = [span for span in spans if not jaeger.spans(format(span.get_span_context().trace_id, "032x"))]
    assert missing == []


def test_numbers_that_json_has_no_word_for_do_not_hide_the_trace(jaeger: Jaeger) -> None:
    """Jaeger answers 500 for a trace with NaN in it; as text it can be read."""
    sending = Sending(jaeger, "udp", "numbers")
    with sending.tracer.start_as_current_span("odd", attributes={"score": float("nan")}) as span:
        trace_id = format(span.get_span_context().trace_id, "032x")
    sending.sent()

    [arrived] = jaeger.wait_for_spans(trace_id, 1)

    assert tags_of(arrived)["score"] == "nan"


def test_opentracing_inside_a_tool_is_in_the_same_trace(jaeger: Jaeger) -> None:
    """From a tool that was instrumented long ago, over the old wire, into the run's trace under its execution."""
    from traced_loop.export.opentracing_bridge import opentracing_tracer

    sending = Sending(jaeger, "udp", "opentracing")
    old = opentracing_tracer(sending.provider)

    @tool(effect="read")
    def look() -> str:
        """Look."""
        with old.start_active_span("select", tags={"span.kind": "client", "db.rows": 3}) as scope:
            scope.span.log_kv({"event": "cache miss"})
        return "seen"

    model = ScriptedModel([calls(("look", {})), "done"])
    result = Loop(model, [look], tracer_provider=sending.provider, store=None).run("Go.")
    spans = jaeger.wait_for_spans(result.trace_id, _count(sending))

    select, execution = _one(spans, "select"), _one(spans, "execute_tool look")
    assert _parent(select) == execution["spanID"]
    assert (tags_of(select)["span.kind"], tags_of(select)["db.rows"]) == ("client", 3)
    assert tags_of(select["logs"][0]) == {"event": "cache miss"}


def _count(sending: Sending) -> int:
    return sending.sent().accepted


def _parent(span: dict[str, Any]) -> str | None:
    return next((ref["spanID"] for ref in span["references"] if ref["refType"] == "CHILD_OF"), None)


def _one(spans: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(span for span in spans if span["operationName"].startswith(name))


def _failed(spans: list[dict[str, Any]]) -> dict[str, Any]:
    executions = [span for span in spans if span["operationName"].startswith("execute_tool")]
    return next(span for span in executions if tags_of(span).get("error"))
