"""Stored spans written in each format, by code that shares nothing with the readers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from traced_loop.read.trace import StoredSpan

KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]


def traces_data(spans: Sequence[StoredSpan]) -> TracesData:
    """One message, with an entry for each span, since each may have its own resource and scope."""
    data = TracesData()
    for span in spans:
        entry = data.resource_spans.add()
        entry.resource.attributes.extend(_pairs(span.resource))
        scope = entry.scope_spans.add()
        scope.scope.name = span.scope
        scope.spans.append(_span(span))
    return data


def protobuf(spans: Sequence[StoredSpan]) -> bytes:
    """As an exporter sends it."""
    return traces_data(spans).SerializeToString()


def behind_four_bytes(batches: Sequence[Sequence[StoredSpan]]) -> bytes:
    """As the Collector's file exporter writes it."""
    messages = [protobuf(spans) for spans in batches]
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


def behind_varints(batches: Sequence[Sequence[StoredSpan]]) -> bytes:
    """As protobuf's own delimited streams."""
    return b"".join(_varint(len(message)) + message for message in map(protobuf, batches))


def otlp_json(spans: Sequence[StoredSpan], *, base64_ids: bool = False) -> dict[str, Any]:
    """One document; with ids as protobuf's own mapping has them, or as OTLP has them."""
    document: dict[str, Any] = MessageToDict(traces_data(spans))
    if not base64_ids:
        _hexadecimal(document, spans)
    return document


def jaeger_json(spans: Sequence[StoredSpan]) -> dict[str, Any]:
    """As Jaeger's UI and its old API have it."""
    traces: dict[str, list[StoredSpan]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    return {"data": [_trace(*pair) for pair in traces.items()], "total": 0, "limit": 0, "offset": 0, "errors": None}


def _span(span: StoredSpan) -> Span:
    return Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_id),
        name=span.name,
        kind=KINDS.index(span.kind),  # type: ignore[arg-type]
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_pairs(span.attributes),
        links=[
            Span.Link(
                trace_id=bytes.fromhex(link.trace_id),
                span_id=bytes.fromhex(link.span_id),
                attributes=_pairs(link.attributes),
            )
            for link in span.links
        ],
        events=[
            Span.Event(name=event.name, time_unix_nano=event.time_ns, attributes=_pairs(event.attributes))
            for event in span.events
        ],
        status=Status(code=2 if span.is_error else 0, message=span.status_message),  # type: ignore[arg-type]
    )


def _pairs(attributes: Any) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any(value)) for key, value in attributes.items()]


def _any(value: Any) -> AnyValue:
    found = AnyValue()
    if isinstance(value, bool):
        found.bool_value = value
    elif isinstance(value, int):
        found.int_value = value
    elif isinstance(value, float):
        found.double_value = value
    elif isinstance(value, str):
        found.string_value = value
    elif isinstance(value, tuple):
        found.array_value.SetInParent()
        found.array_value.values.extend(map(_any, value))
    elif isinstance(value, dict):
        found.kvlist_value.SetInParent()
        found.kvlist_value.values.extend(_pairs(value))
    return found


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _hexadecimal(document: dict[str, Any], spans: Sequence[StoredSpan]) -> None:
    for entry, span in zip(document.get("resourceSpans", []), spans, strict=True):
        [written] = entry["scopeSpans"][0]["spans"]
        ids = {"traceId": span.trace_id, "spanId": span.span_id, "parentSpanId": span.parent_id}
        written.update({key: value for key, value in ids.items() if value})
        for link, linked in zip(written.get("links", []), span.links, strict=True):
            link.update({"traceId": linked.trace_id, "spanId": linked.span_id})


def _trace(trace_id: str, spans: Sequence[StoredSpan]) -> dict[str, Any]:
    processes = {
        f"p{place}": {
            "serviceName": span.resource["service.name"],
            "tags": _tags({key: value for key, value in span.resource.items() if key != "service.name"}),
        }
        for place, span in enumerate(spans)
    }
    written = [_jaeger_span(span, f"p{place}") for place, span in enumerate(spans)]
    return {"traceID": trace_id, "spans": written, "processes": processes, "warnings": None}


def _jaeger_span(span: StoredSpan, process: str) -> dict[str, Any]:
    tags = dict(span.attributes)
    if span.kind != "UNSPECIFIED":
        tags["span.kind"] = span.kind.lower()
    if span.is_error:
        tags |= {"otel.status_code": "ERROR", "error": True}
    if span.status_message:
        tags["otel.status_description"] = span.status_message
    tags |= {"otel.scope.name": span.scope} if span.scope else {"internal.span.format": "otlp"}
    parents = [("CHILD_OF", span.trace_id, span.parent_id)] if span.parent_id else []
    references = [*parents, *(("FOLLOWS_FROM", link.trace_id, link.span_id) for link in span.links)]
    return {
        "traceID": span.trace_id,
        "spanID": span.span_id,
        "operationName": span.name,
        "references": [{"refType": kind, "traceID": trace, "spanID": of} for kind, trace, of in references],
        "startTime": span.start_ns // 1000,
        "duration": (span.end_ns - span.start_ns) // 1000,
        "tags": _tags(tags),
        "logs": [
            {"timestamp": event.time_ns // 1000, "fields": _tags({"event": event.name, **event.attributes})}
            for event in span.events
        ],
        "processID": process,
        "warnings": None,
    }


def _tags(attributes: Any) -> list[dict[str, Any]]:
    return [{"key": key, "type": _type(value), "value": _value(value)} for key, value in attributes.items()]


def _type(value: Any) -> str:
    kinds = {bool: "bool", int: "int64", float: "float64"}
    return kinds.get(type(value), "string")


def _value(value: Any) -> Any:
    return json.dumps(list(value), separators=(",", ":")) if isinstance(value, tuple) else value
