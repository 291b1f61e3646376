"""Bytes written by hand say what the SDK and the standard encoder say of the same span, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
)

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.export.otlp_bytes import RequestHead, span_field
from traced_loop.export.own_resource import own_resource
from traced_loop.setup import close
from traced_loop.telemetry.span_record import SpanEvent, SpanRecord
from traced_loop.testing import calls, play
from traced_loop.tools import multiply
from traced_loop.version import __version__

from .collector import Collector, collector

SAMPLED = TraceFlags(TraceFlags.SAMPLED)
TEXTS = st.text(max_size=80)
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), -1, 0, 1, 127, 128, 1_023, 1_024, 2**63 - 1])
PLAIN = TEXTS | st.booleans() | INTEGERS | st.floats() | st.binary(max_size=200)
VALUES = st.recursive(PLAIN, lambda each: st.lists(each, max_size=4) | st.dictionaries(TEXTS, each, max_size=4))
IDS = st.integers(1, 2**64 - 1)
EVENTS = st.builds(SpanEvent, IDS, TEXTS, st.dictionaries(TEXTS.filter(bool), VALUES, max_size=3))


def record(**changes: Any) -> SpanRecord:
    """A span of a run."""
    known: dict[str, Any] = {
        "run_id": "r", "trace_id": 2**127 + 5, "span_id": 7, "parent_id": 0, "name": "step", "kind": "INTERNAL",
        "start_ns": 1, "end_ns": 2, "root": False, "brief": False,
    }  # fmt: skip
    return SpanRecord(**{**known, **changes})


def read(records: list[SpanRecord], resource: Resource) -> ExportTraceServiceRequest:
    """Our bytes, as the official classes read them."""
    head = RequestHead(resource.attributes, resource.schema_url, names.SCOPE, __version__)
    return ExportTraceServiceRequest.FromString(head.request([span_field(each) for each in records]))


def context(trace_id: int, span_id: int, state: str = "", *, remote: bool = False) -> SpanContext:
    """A sampled one."""
    return SpanContext(
        trace_id, span_id, is_remote=remote, trace_flags=SAMPLED, trace_state=TraceState.from_header([state])
    )


def readable(span: SpanRecord, resource: Resource) -> ReadableSpan:
    """The same as the SDK has it, with values that its tracer would clean."""
    return ReadableSpan(
        span.name,
        context=context(span.trace_id, span.span_id, span.trace_state),
        parent=context(span.trace_id, span.parent_id, remote=span.parent_is_remote) if span.parent_id else None,
        resource=resource,
        attributes=span.attributes,
        links=[Link(context(*linked)) for linked in span.links],
        events=[Event(event.name, event.attributes, event.time_ns) for event in span.events],
        kind=SpanKind[span.kind],
        status=Status(StatusCode.ERROR, span.message or None) if span.error else Status(StatusCode.UNSET),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope(names.SCOPE, __version__),
    )


@given(
    st.builds(
        record,
        trace_id=st.integers(1, 2**128 - 1),
        span_id=IDS,
        parent_id=IDS | st.just(0),
        parent_is_remote=st.just(value=False),
        name=TEXTS.filter(bool),
        kind=st.sampled_from(["INTERNAL", "CLIENT"]),
        start_ns=st.integers(0, 2**63),
        end_ns=st.integers(0, 2**64 - 1),
        attributes=st.dictionaries(TEXTS.filter(bool), VALUES, max_size=8),
        links=st.lists(st.tuples(IDS, IDS), max_size=3).map(tuple),
        events=st.lists(EVENTS, max_size=3).map(tuple),
        error=st.booleans(),
        message=TEXTS,
        trace_state=st.sampled_from(["", "a=1", "vendor=x,other=y"]),
    ),
    st.dictionaries(TEXTS.filter(bool), TEXTS | INTEGERS | st.lists(TEXTS, max_size=3), max_size=4),
)
def test_any_span_reads_as_the_standard_encoder_writes_it(span: SpanRecord, known: dict[str, Any]) -> None:
    """Texts beyond the BMP, 64-bit edges, infinities and NaN, bytes, lists in lists; once and from the kept values."""
    resource = Resource(known, "https://opentelemetry.io/schemas/1.40.0")
    wanted = encode_spans([readable(span, resource)]).SerializeToString(deterministic=True)
    for _ in range(2):
        assert read([span], resource).SerializeToString(deterministic=True) == wanted


@pytest.mark.parametrize("remote", [True, False])
def test_a_parent_in_another_process_is_marked(remote: bool) -> None:
    """As the SDK marks it."""
    span = record(parent_id=9, parent_is_remote=remote)
    assert read([span], Resource({})) == encode_spans([readable(span, Resource({}))])


class SameIds(IdGenerator):
    """Gives the ids of a recorded span again."""

    def __init__(self) -> None:
        self.now = record()

    def generate_span_id(self) -> int:
        return self.now.span_id

    def generate_trace_id(self) -> int:
        return self.now.trace_id


def by_the_sdk(records: list[SpanRecord], resource: Resource) -> ExportTraceServiceRequest:
    """The same spans, started, set and ended through a tracer of the SDK, and encoded as the standard exporter does."""
    kept, ids = InMemorySpanExporter(), SameIds()
    provider = TracerProvider(resource=resource, id_generator=ids, span_limits=SpanLimits(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer(names.SCOPE, __version__)
    for each in records:
        ids.now = each
        parent = NonRecordingSpan(context(each.trace_id, each.parent_id)) if each.parent_id else trace.INVALID_SPAN
        span = tracer.start_span(
            each.name,
            trace.set_span_in_context(parent),
            SpanKind[each.kind],
            links=[Link(context(*linked)) for linked in each.links],
            start_time=each.start_ns,
        )
        span.set_attributes(each.attributes)
        if each.error:
            span.set_status(Status(StatusCode.ERROR, each.message or None))
        span.end(each.end_ns)
    return encode_spans(kept.get_finished_spans())


@pytest.mark.parametrize("content", ["none", "span"])
def test_a_whole_run_reads_as_the_sdk_would_have_sent_it(content: Any) -> None:
    """A failed tool, a repeated call with its link, and texts beyond the BMP."""

    @tool(effect="read", trace=["name"])
    def look(name: str) -> str:
        """Look something up."""
        if name == "boom":
            raise ValueError("no \U0001f600")
        return f"\U0001f600 {name}"

    again = calls(("look", {"name": "\U0001f600"}))
    script = [again, again, calls(("look", {"name": "boom"})), "done \U0001f600"]
    records = play(script, [look], content=content, name="agent \U0001f600").spans.ended_spans
    resource = own_resource()

    ours = read(records, resource)

    assert ours == by_the_sdk(records, resource)
    assert any(each.links for each in records)
    assert any(each.error for each in records)
    assert len(ours.resource_spans[0].scope_spans[0].spans) == len(records) > 20


def sent_spans(receiver: Collector) -> list[tuple[Any, ...]]:
    """What a run has said of itself, without ids and times."""
    names_by_id = {span.span_id: span.name for span in receiver.spans}
    return sorted(
        (
            span.name, span.kind, span.flags, span.status.code, names_by_id.get(span.parent_span_id, ""),
            tuple(sorted((a.key, a.value.WhichOneof("value")) for a in span.attributes)),
        )
        for span in receiver.spans
    )  # fmt: skip


def test_both_ways_of_a_real_run_send_the_same_spans() -> None:
    """Through the application's provider, and through our own pipeline."""
    with collector() as theirs, collector() as ours:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{theirs.endpoint}/v1/traces")))
        for options in ({"tracer_provider": provider}, {"otlp": ours.endpoint}):
            model = ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), "42"])
            Loop(model, [multiply], store=None, **options).run("Six times seven?")
        provider.shutdown()
        assert close(10)
        assert sent_spans(ours) == sent_spans(theirs)
        assert len(ours.spans) == 14
