"""A span as one line of OTLP JSON: an ``ExportTraceServiceRequest`` that any OTLP file reader takes.

Written by hand because it is on the run's path: the generic protobuf encoder costs several times as much. Field
names and encodings are those of the OTLP/JSON mapping: hexadecimal ids, 64-bit numbers as text.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from traced_loop.telemetry.spans import SpanRecord

_KINDS: Final = {"INTERNAL": 1, "CLIENT": 3}
_ERROR: Final = 2


class LineEncoder:
    """Encodes spans of one resource and scope; the part that never changes is encoded once."""

    def __init__(self, resource: Mapping[str, Any], scope: str, version: str) -> None:
        resource_json = _dumps({"attributes": attributes_json(resource)})
        scope_json = _dumps({"name": scope, "version": version})
        self._head = f'{{"resourceSpans":[{{"resource":{resource_json},"scopeSpans":[{{"scope":{scope_json},"spans":['
        self._tail = "]}]}]}\n"

    def line(self, span: SpanRecord) -> bytes:
        """One line, newline included, valid UTF-8."""
        return f"{self._head}{_dumps(span_json(span))}{self._tail}".encode(errors="replace")


def span_json(span: SpanRecord) -> dict[str, Any]:
    """The OTLP JSON object of one span; ``endTimeUnixNano`` is ``"0"`` while it is open."""
    out: dict[str, Any] = {
        "traceId": f"{span.trace_id:032x}",
        "spanId": f"{span.span_id:016x}",
        "parentSpanId": f"{span.parent_id:016x}" if span.parent_id else "",
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": attributes_json(span.attributes),
        "status": {},
    }
    if span.error:
        out["status"] = {"code": _ERROR, "message": span.message} if span.message else {"code": _ERROR}
    if span.links:
        out["links"] = [{"traceId": f"{t:032x}", "spanId": f"{s:016x}"} for t, s in span.links]
    return out


def attributes_json(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """OTLP key-value pairs; the values have passed the attribute hygiene."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"arrayValue": {"values": [_value(item) for item in value]}}


_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
