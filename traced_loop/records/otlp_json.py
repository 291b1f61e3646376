"""A span as one line of OTLP JSON: an ``ExportTraceServiceRequest`` that any OTLP file reader takes.

Written by hand because it is on the run's path: dictionaries for a generic encoder would cost several times as much.
Field names and encodings are those of the OTLP/JSON mapping: hexadecimal ids, 64-bit numbers as text.
"""

from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring as quoted  # the JSON encoder's own, in C where that is built
from typing import Any, Final

from traced_loop.telemetry.spans import SpanRecord

KEPT_TEXT: Final = 48
"""Characters of a text whose encoded form is kept: names and closed words, which come again with nearly every span."""
KEPT_NUMBERS: Final = 1_024
"""Numbers from -1 to below this are kept as well."""

_KINDS: Final = {"INTERNAL": 1, "CLIENT": 3}
_ERROR: Final = 2


class LineEncoder:
    """Encodes spans of one resource and scope; the part that never changes is encoded once."""

    def __init__(
        self, resource: Mapping[str, Any], scope: str, version: str, owed: Mapping[str, str] | None = None
    ) -> None:
        """Encode what all lines share.

        Args:
            resource: attributes of the process.
            scope: name of the instrumentation scope.
            version: of the scope.
            owed: attributes of the scope of each span that is to be exported: to whom it is owed; None for nobody.
        """
        self._head = _head(resource, scope, version, {})
        self._owed_head = _head(resource, scope, version, owed) if owed else self._head
        self._tail = "]}]}]}\n"

    def line(self, span: SpanRecord) -> bytes:
        """One line, newline included, valid UTF-8; ``endTimeUnixNano`` is ``"0"`` while the span is open."""
        parent = f"{span.parent_id:016x}" if span.parent_id else ""
        head = self._owed_head if span.exported else self._head
        return (
            f'{head}{{"traceId":"{span.trace_id:032x}","spanId":"{span.span_id:016x}","parentSpanId":"{parent}",'
            f'"name":{quoted(span.name)},"kind":{_KINDS[span.kind]},"startTimeUnixNano":"{span.start_ns}",'
            f'"endTimeUnixNano":"{span.end_ns}","attributes":{_attributes(span.attributes)},"status":{_status(span)}'
            f"{_events(span)}{_links(span)}}}{self._tail}"
        ).encode(errors="replace")


def _head(resource: Mapping[str, Any], scope: str, version: str, more: Mapping[str, str]) -> str:
    known = f',"attributes":{_attributes(more)}' if more else ""
    return (
        f'{{"resourceSpans":[{{"resource":{{"attributes":{_attributes(resource)}}},"scopeSpans":'
        f'[{{"scope":{{"name":{quoted(scope)},"version":{quoted(version)}{known}}},"spans":['
    )


def _attributes(attributes: Mapping[str, Any]) -> str:
    """OTLP key-value pairs; the values have passed the attribute hygiene."""
    pairs = [_kept_pair(key, value) if is_common(value) else _pair(key, value) for key, value in attributes.items()]
    return f"[{','.join(pairs)}]"


def is_common(value: object) -> bool:
    """Whether it comes again with nearly every span; a subclass does not count, since its hash may be anything."""
    if type(value) is str:
        return len(value) <= KEPT_TEXT
    return type(value) is bool or (type(value) is int and -1 <= value < KEPT_NUMBERS)


def _pair(key: str, value: Any) -> str:
    return f"{_key(key)}{_value(value)}}}"


_kept_pair: Final = lru_cache(maxsize=1_024, typed=True)(_pair)


@lru_cache(maxsize=512)
def _key(key: str) -> str:
    """The part before the value; there are as many keys as constants in ``names``."""
    return f'{{"key":{quoted(key)},"value":'


def _value(value: Any) -> str:
    if isinstance(value, str):
        return f'{{"stringValue":{quoted(value)}}}'
    if isinstance(value, bool):
        return '{"boolValue":true}' if value else '{"boolValue":false}'
    if isinstance(value, int):
        return f'{{"intValue":"{value}"}}'
    if isinstance(value, float):
        return f'{{"doubleValue":{value!r}}}'
    return f'{{"arrayValue":{{"values":[{",".join([_value(item) for item in value])}]}}}}'


def _status(span: SpanRecord) -> str:
    if not span.error:
        return "{}"
    return f'{{"code":{_ERROR},"message":{quoted(span.message)}}}' if span.message else f'{{"code":{_ERROR}}}'


def _events(span: SpanRecord) -> str:
    if not span.events:
        return ""
    happened = [
        f'{{"timeUnixNano":"{event.time_ns}","name":{quoted(event.name)},"attributes":{_attributes(event.attributes)}}}'
        for event in span.events
    ]
    return f',"events":[{",".join(happened)}]'


def _links(span: SpanRecord) -> str:
    if not span.links:
        return ""
    linked = ",".join(f'{{"traceId":"{trace_id:032x}","spanId":"{span_id:016x}"}}' for trace_id, span_id in span.links)
    return f',"links":[{linked}]'
