"""OpenTelemetry spans in Jaeger's words, read back by jaeger-client's own types."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from traced_loop.export.jaeger import thrift_parts
from traced_loop.export.jaeger.span_translation import jaeger_process, jaeger_span

from .jaeger_endpoints import Recorded, kinds, made_spans, read_body, read_packet, ttypes, values

WIRES = [(thrift_parts.AgentPacket(), read_packet), (thrift_parts.CollectorRequest(), read_body)]


def through_the_wire(recorded: Recorded, wire: Any = WIRES[0][0], read: Any = read_packet) -> Any:
    """The batch that the other end reads."""
    spans = [wire.encode(jaeger_span(span)) for span in recorded.spans]
    return read(wire.message(jaeger_process(recorded.spans[0].resource), spans))


def one(**attributes: Any) -> Any:
    """A span with these attributes, as the other end reads it."""
    recorded = Recorded()
    recorded.tracer.start_span("one", attributes=attributes).end()
    return through_the_wire(recorded).spans[0]


@pytest.mark.parametrize(("wire", "read"), WIRES)
def test_both_forms_carry_the_same_span(wire: Any, read: Any) -> None:
    """Ids, name, parent and times survive thrift compact and thrift binary; ids of 128 bits as two signed halves."""
    recorded = Recorded()
    with recorded.tracer.start_as_current_span("outer") as outer, recorded.tracer.start_as_current_span("inner"):
        pass

    inner, parent = through_the_wire(recorded, wire, read).spans

    context = outer.get_span_context()
    assert inner.operationName == "inner"
    assert [half % 2**64 for half in (inner.traceIdHigh, inner.traceIdLow)] == [*divmod(context.trace_id, 2**64)]
    assert inner.parentSpanId % 2**64 == context.span_id == parent.spanId % 2**64
    assert parent.parentSpanId == 0
    assert parent.startTime == recorded.spans[1].start_time // 1000


@pytest.mark.parametrize("trace_id", [1, 2**63 - 1, 2**63, 2**64, 2**127, 2**128 - 1])
def test_every_id_fits_into_signed_numbers(trace_id: int) -> None:
    """Thrift has no unsigned numbers: the halves of an id wrap, and are the same bits at the other end."""
    recorded = Recorded()
    far = SpanContext(trace_id, 2**64 - 1, is_remote=False, trace_flags=TraceFlags(1))
    recorded.tracer.start_span("linked", links=[Link(far)]).end()

    [reference] = through_the_wire(recorded).spans[0].references

    assert (reference.traceIdHigh % 2**64, reference.traceIdLow % 2**64) == divmod(trace_id, 2**64)
    assert reference.spanId == -1


def test_the_random_bit_is_not_sent_as_debug() -> None:
    """The SDK sets W3C's second flag on root spans; Jaeger would read it as debug and keep every such trace."""
    recorded = Recorded()
    recorded.tracer.start_span("root").end()

    assert recorded.spans[0].context is not None
    assert recorded.spans[0].context.trace_flags == 3
    assert through_the_wire(recorded).spans[0].flags == 1


def test_parent_and_links_are_references() -> None:
    """The parent is what the span is a child of, and comes first; links are what it follows from."""
    recorded = Recorded()
    with recorded.tracer.start_as_current_span("outer") as outer:
        far = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(1))
        recorded.tracer.start_span("inner", links=[Link(far)]).end()

    inner, root = through_the_wire(recorded).spans

    parent_id = outer.get_span_context().span_id
    assert [(reference.refType, reference.spanId % 2**64) for reference in inner.references] == [
        (ttypes.SpanRefType.CHILD_OF, parent_id),
        (ttypes.SpanRefType.FOLLOWS_FROM, 8),
    ]
    assert root.references == []


def test_tags_keep_their_types() -> None:
    """Booleans, integers, numbers and texts are what they were; the rest is text that says as much."""
    span = one(flag=True, count=3, share=0.5, text="naïve 🙂", many=("a", "b"), big=2**63, raw=b"\x00\xff")

    assert values(span.tags) | {
        "flag": True,
        "count": 3,
        "share": 0.5,
        "text": "naïve 🙂",
        "many": '["a", "b"]',
        "big": str(2**63),
        "raw": "AP8=",
    } == values(span.tags)
    expected = {"flag": "BOOL", "count": "LONG", "share": "DOUBLE", "many": "STRING", "big": "STRING", "raw": "STRING"}
    assert kinds(span.tags) | expected == kinds(span.tags)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_word_for_is_text(value: float) -> None:
    """Jaeger stores NaN and infinities, and then answers 500 for the whole trace."""
    span = one(odd=value)

    assert values(span.tags)["odd"] == str(value)
    assert kinds(span.tags)["odd"] == "STRING"


def test_a_failure_is_an_error_in_jaegers_words() -> None:
    """`error` is what Jaeger colours; code and description are in the fields that Jaeger 2 reads a status from."""
    recorded = Recorded()
    span = recorded.tracer.start_span("pay", kind=SpanKind.CLIENT, attributes={"error": False})
    span.set_status(Status(StatusCode.ERROR, "declined"))
    span.end()

    tags = values(through_the_wire(recorded).spans[0].tags)

    assert tags == {
        "span.kind": "client",
        "otel.status_code": "ERROR",
        "otel.status_description": "declined",
        "otel.scope.name": "instrumentation",
        "otel.scope.version": "1.2",
        "error": True,
    }


def test_a_span_that_did_not_fail_has_no_status() -> None:
    """UNSET is nothing; OK is said, and is no error."""
    recorded = Recorded()
    recorded.tracer.start_span("unset").end()
    fine = recorded.tracer.start_span("fine")
    fine.set_status(Status(StatusCode.OK))
    fine.end()

    unset, ok = (values(span.tags) for span in through_the_wire(recorded).spans)

    assert "otel.status_code" not in unset
    assert ok["otel.status_code"] == "OK"
    assert "error" not in ok


def test_what_the_sdk_dropped_and_the_trace_state_are_said() -> None:
    """Counts of what limits took away, and the vendor's part of the trace context, as the specification names them."""
    recorded = Recorded()
    state = TraceState([("vendor", "7")])
    caller = SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=state)
    context = trace.set_span_in_context(trace.NonRecordingSpan(caller))
    many = {f"key{place}": place for place in range(130)}
    recorded.tracer.start_span("one", context, attributes=many).end()

    tags = values(through_the_wire(recorded).spans[0].tags)

    assert (tags["otel.dropped_attributes_count"], tags["w3c.tracestate"]) == (2, "vendor=7")
    assert "otel.dropped_events_count" not in tags


def test_the_kind_of_an_opentracing_span_is_its_tag() -> None:
    """A tag `span.kind` was set on purpose; the kind INTERNAL is what a span has when nobody said anything."""
    assert values(one(**{"span.kind": "server"}).tags)["span.kind"] == "server"


def test_an_events_name_is_the_field_that_jaeger_reads() -> None:
    """`event`, where OpenTelemetry's retired exporter wrote `message` and so lost every name."""
    recorded = Recorded()
    span = recorded.tracer.start_span("one")
    span.add_event("retry", {"attempt": 2, "event": "shadowed"}, timestamp=1_700_000_000_000_001_999)
    span.end()

    [log] = through_the_wire(recorded).spans[0].logs

    assert values(log.fields) == {"event": "retry", "attempt": 2}
    assert log.timestamp == 1_700_000_000_000_001


def test_the_resource_is_the_process() -> None:
    """`service.name` is the process's name; the rest are its tags."""
    recorded = Recorded(**{"host.name": "box", "replica": 3})
    recorded.tracer.start_span("one").end()

    process = through_the_wire(recorded).process

    assert process.serviceName == "shop"
    assert values(process.tags) == {"host.name": "box", "replica": 3}


@given(
    start=st.integers(0, 2**60), lead=st.integers(0, 10_000), length=st.integers(0, 10_000), tail=st.integers(0, 10_000)
)
@settings(max_examples=50, deadline=None)
def test_a_child_never_ends_after_its_parent(start: int, lead: int, length: int, tail: int) -> None:
    """Whole microseconds are cut from both ends, not from the duration, so what was nested stays nested."""
    recorded = Recorded()
    outer = recorded.tracer.start_span("outer", start_time=start)
    recorded.tracer.start_span("inner", start_time=start + lead).end(start + lead + length)
    outer.end(start + lead + length + tail)

    inner, parent = through_the_wire(recorded).spans

    assert parent.startTime <= inner.startTime
    assert inner.startTime + inner.duration <= parent.startTime + parent.duration


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=20),
        st.text() | st.booleans() | st.floats() | st.integers() | st.lists(st.text(), max_size=3),
        max_size=6,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_attribute_can_be_sent(attributes: dict[str, Any]) -> None:
    """Whatever an application puts on a span, the other end can read it and make JSON of it."""
    [span] = made_spans(attributes)
    wire = thrift_parts.AgentPacket()

    data = wire.message(thrift_parts.process("shop", ()), [wire.encode(jaeger_span(span))])

    read = read_packet(data).spans[0]
    assert json.dumps(values(read.tags), allow_nan=False)
    assert set(span.attributes or {}) <= {tag.key for tag in read.tags}


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_broken_text_is_made_whole(text: str) -> None:
    """An unpaired surrogate cannot be sent; it becomes U+FFFD instead of costing the batch."""
    tags = [thrift_parts.tag(text, text)]

    wire = thrift_parts.AgentPacket()
    read = read_packet(wire.message(thrift_parts.process(text, tags), []))

    assert read.process.serviceName == text.replace("\ud800", "�").replace("\udfff", "�")
    assert values(read.process.tags) == {read.process.serviceName: read.process.serviceName}
