"""Spans in requests that every receiver takes: below 4 MiB, as they are encoded and before they are compressed.

A span of a loop is never above 32 KiB. Spans of other libraries, which a tool may send through the same provider, can
be of any size: one that alone is too large is cut down, and says how many values it lost, instead of being refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from traced_loop import names
from traced_loop.export.packed_span import MAX_REQUEST_BYTES as MAX_REQUEST_BYTES
from traced_loop.telemetry.attributes import cut
from traced_loop.telemetry.span_attributes import utf8_bytes

SPAN_BYTES: Final = 256
"""Ids, times and framing of one span, event or link, generously."""

_ATTRIBUTE_BYTES: Final = 32
_ITEM_BYTES: Final = 32
_KEPT_VALUE_BYTES: Final = 16_384
_KEPT_BYTES: Final = 1_000_000


def requests(spans: Sequence[ReadableSpan]) -> Iterator[list[ReadableSpan]]:
    """The spans in order, in lists that stay under ``MAX_REQUEST_BYTES`` as they are encoded."""
    batch: list[ReadableSpan] = []
    heads: dict[tuple[int, int], int] = {}
    inside: set[tuple[int, int]] = set()
    size = 0
    for given in spans:
        head = id(given.resource), id(given.instrumentation_scope)
        head_bytes = heads[head] if head in heads else heads.setdefault(head, _head_bytes(given))
        span, more = _fitting(given, MAX_REQUEST_BYTES - head_bytes)
        if batch and size + more + (0 if head in inside else head_bytes) > MAX_REQUEST_BYTES:
            yield batch
            batch, size = [], 0
            inside.clear()
        size += more + (0 if head in inside else head_bytes)
        inside.add(head)
        batch.append(span)
    if batch:
        yield batch


def span_bytes(span: ReadableSpan) -> int:
    """Bytes of a span in a request, rather too many than too few."""
    events = sum(SPAN_BYTES + utf8_bytes(e.name) + attributes_bytes(e.attributes) for e in span.events)
    links = sum(SPAN_BYTES + _state_bytes(link.context) + attributes_bytes(link.attributes) for link in span.links)
    texts = utf8_bytes(span.name) + utf8_bytes(span.status.description or "") + _state_bytes(span.context)
    return SPAN_BYTES + texts + attributes_bytes(span.attributes) + events + links


def attributes_bytes(attributes: Mapping[str, Any] | None) -> int:
    """Bytes of attributes in a request."""
    return sum(_ATTRIBUTE_BYTES + utf8_bytes(key) + _value_bytes(value) for key, value in (attributes or {}).items())


def _value_bytes(value: Any) -> int:
    if isinstance(value, str):
        return utf8_bytes(value)
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return attributes_bytes(cast("Mapping[str, Any]", value))
    items = cast("Sequence[object]", value) if isinstance(value, (tuple, list)) else ()
    return sum(_ITEM_BYTES + _value_bytes(item) for item in items)


def _state_bytes(context: SpanContext | None) -> int:
    return 0 if context is None else sum(2 + utf8_bytes(k) + utf8_bytes(v) for k, v in context.trace_state.items())


def _head_bytes(span: ReadableSpan) -> int:
    """Bytes of what spans of one resource and scope share in a request."""
    scope = span.instrumentation_scope
    texts = [span.resource.schema_url, *((scope.name, scope.version or "", scope.schema_url or "") if scope else ())]
    known = attributes_bytes(scope.attributes) if scope else 0
    return SPAN_BYTES + sum(map(utf8_bytes, texts)) + attributes_bytes(span.resource.attributes) + known


def _fitting(span: ReadableSpan, limit: int) -> tuple[ReadableSpan, int]:
    """The span and its bytes; cut down where it would fit into no request."""
    size = span_bytes(span)
    if size <= limit:
        return span, size
    kept: dict[str, Any] = {}
    room = _KEPT_BYTES
    for key, value in (span.attributes or {}).items():
        needs = attributes_bytes({key: value})
        if needs <= min(room, _KEPT_VALUE_BYTES):
            kept[key] = value
            room -= needs
    lost = len(span.attributes or {}) - len(kept) + len(span.events) + len(span.links)
    smaller = ReadableSpan(
        cut(span.name, _KEPT_VALUE_BYTES),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={names.EXPORT_TRIMMED: lost, **kept},
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
    return smaller, span_bytes(smaller)
