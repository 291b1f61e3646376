"""Each line is an OTLP request that other readers take."""

import base64
import json
from typing import Any

from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from traced_loop.records.otlp_json import LineEncoder
from traced_loop.telemetry.attributes import Hygiene, clean, clean_name, cut
from traced_loop.telemetry.spans import SpanEvent, SpanRecord

any_text = st.text(st.characters(exclude_categories=()))
attributes = st.dictionaries(
    any_text,
    any_text | st.booleans() | st.integers() | st.floats() | st.lists(any_text),
).map(lambda raw: clean(raw, Hygiene()))
spans = st.builds(
    SpanRecord,
    run_id=st.just("r"),
    trace_id=st.integers(1, 2**128 - 1),
    span_id=st.integers(1, 2**64 - 1),
    parent_id=st.integers(0, 2**64 - 1),
    name=any_text.map(clean_name),
    kind=st.sampled_from(["INTERNAL", "CLIENT"]),
    start_ns=st.integers(0, 2**63),
    root=st.booleans(),
    brief=st.booleans(),
    end_ns=st.integers(0, 2**63),
    attributes=attributes,
    links=st.lists(st.tuples(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1)), max_size=3).map(tuple),
    events=st.lists(st.builds(SpanEvent, st.integers(1, 2**63), any_text.map(clean_name), attributes), max_size=2).map(
        tuple
    ),
    error=st.booleans(),
    message=any_text.map(lambda text: cut(text, 256)),
)
ENCODER = LineEncoder({"service.name": "s", "n": 1, "ok": True}, "scope", "1.2")


def as_protobuf(line: bytes) -> Any:
    """The request as a receiver that knows only protobuf reads it (its ids are base64, the standard's are hex)."""
    request = json.loads(line)
    for span in spans_in(request):
        for part in (span, *span.get("links", ())):
            for key in part.keys() & {"traceId", "spanId", "parentSpanId"}:
                part[key] = base64.b64encode(bytes.fromhex(part[key])).decode()
    return ParseDict(request, ExportTraceServiceRequest())


def spans_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The span objects of a request."""
    return [s for r in request["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]


def plain(value: Any) -> Any:
    """A protobuf value as Python's."""
    kind = value.WhichOneof("value")
    return tuple(plain(v) for v in value.array_value.values) if kind == "array_value" else getattr(value, kind)


@given(spans)
def test_every_line_is_what_the_protobuf_definition_takes(record: SpanRecord) -> None:
    """Nothing of a span is lost or changed on the way."""
    line = ENCODER.line(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    span = as_protobuf(line).resource_spans[0].scope_spans[0].spans[0]
    assert int.from_bytes(span.trace_id) == record.trace_id
    assert (int.from_bytes(span.span_id), int.from_bytes(span.parent_span_id)) == (record.span_id, record.parent_id)
    assert (span.name, span.start_time_unix_nano, span.end_time_unix_nano) == (
        record.name,
        record.start_ns,
        record.end_ns,
    )
    assert {a.key: plain(a.value) for a in span.attributes} == record.attributes
    assert [(int.from_bytes(x.trace_id), int.from_bytes(x.span_id)) for x in span.links] == list(record.links)
    happened = [(e.time_unix_nano, e.name, {a.key: plain(a.value) for a in e.attributes}) for e in span.events]
    assert happened == [tuple(event) for event in record.events]
    assert (span.status.code == 2, span.status.message) == (record.error, record.message if record.error else "")


def test_resource_and_scope_are_on_every_line() -> None:
    """Each line stands alone."""
    record = SpanRecord("r", 1, 2, 0, "n", "CLIENT", 1, True, False)
    of_resource = as_protobuf(ENCODER.line(record)).resource_spans[0]
    assert {a.key: plain(a.value) for a in of_resource.resource.attributes} == {"service.name": "s", "n": 1, "ok": True}
    scope = of_resource.scope_spans[0].scope
    assert (scope.name, scope.version) == ("scope", "1.2")
    assert of_resource.scope_spans[0].spans[0].kind == 3


def test_a_resource_that_is_no_unicode_does_not_break_a_line() -> None:
    """The environment may hold any bytes."""
    line = LineEncoder({"service.name": "a\udcff"}, "s", "1").line(
        SpanRecord("r", 1, 2, 0, "n", "INTERNAL", 1, True, False)
    )
    assert json.loads(line.decode())
