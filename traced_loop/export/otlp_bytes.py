"""Spans of ours in the binary form of OTLP, written by hand from the record of the store.

The standard encoder makes three objects per attribute before it writes a byte; these functions write the bytes, and
those of a key with a value that many spans share once. A message is the concatenation of its fields, and a request
that of its parts, so what is encoded alone can be put together in any order. Field numbers are those of OTLP 1.x.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, Final, cast

from traced_loop.records.otlp_json import is_common
from traced_loop.telemetry.span_record import SpanEvent, SpanId, SpanRecord

_KINDS: Final = {"INTERNAL": b"\x30\x01", "CLIENT": b"\x30\x03"}
_LOCAL: Final = b"\x85\x01\x00\x01\x00\x00"
_REMOTE: Final = b"\x85\x01\x00\x03\x00\x00"
_LINK_FLAGS: Final = b"\x35\x00\x01\x00\x00"
"""Of the flags, 1 is that a span is sampled, 256 that it is known whether its parent, or what it links to, came from
another process, and 512 that it did. Links have what the SDK gives to those that are made from ids: 256 alone."""
_UNSET: Final = b"\x7a\x00"
_ERROR: Final = b"\x18\x02"
_SHORT: Final = tuple(bytes((number,)) for number in range(128))
_TIMES: Final = Struct("<cQcQ")
_TIME: Final = Struct("<cQ")
_DOUBLE: Final = Struct("<d")
_64_BITS: Final = 2**64 - 1
_FRAMING: Final = 32


def span_field(span: SpanRecord) -> bytes:
    """One ended span as a field of the message that holds the spans of one scope."""
    parts = [
        b"\x0a\x10",
        span.trace_id.to_bytes(16, "big"),
        b"\x12\x08",
        span.span_id.to_bytes(8, "big"),
        _field(b"\x1a", span.trace_state.encode(errors="replace")) if span.trace_state else b"",
        b"\x22\x08" + span.parent_id.to_bytes(8, "big") if span.parent_id else b"",
        _named(span.name),
        _KINDS[span.kind],
        _TIMES.pack(b"\x39", span.start_ns, b"\x41", span.end_ns),
    ]
    for key, value in span.attributes.items():
        encode = _kept_attribute if is_common(value) else _attribute
        parts.append(encode(key, value))
    if span.events:
        parts.extend([_event(event) for event in span.events])
    if span.links:
        parts.extend([_link(linked) for linked in span.links])
    parts.append(_status(span.message) if span.error else _UNSET)
    parts.append(_REMOTE if span.parent_is_remote else _LOCAL)
    return _field(b"\x12", b"".join(parts))


class RequestHead:
    """What the spans of one process and scope share in every request, encoded once."""

    def __init__(self, resource: Mapping[str, Any], schema_url: str, scope: str, version: str) -> None:
        """Encode it.

        Args:
            resource: attributes of the process.
            schema_url: of these, or ``""``.
            scope: name of the instrumentation scope.
            version: of the scope.
        """
        known = [_field(b"\x0a", _key_value(key, value)) for key, value in resource.items()]
        self._resource = _field(b"\x0a", b"".join(known))
        self._schema = _text(b"\x1a", schema_url) if schema_url else b""
        self._scope = _field(b"\x0a", _text(b"\x0a", scope) + _text(b"\x12", version))
        self.size = len(self._resource) + len(self._schema) + len(self._scope) + _FRAMING
        """Bytes that it adds to a request at most."""

    def request(self, spans: Sequence[bytes]) -> bytes:
        """A whole request with these spans, each from ``span_field``."""
        scoped = _field(b"\x12", b"".join((self._scope, *spans)))
        return _field(b"\x0a", b"".join((self._resource, scoped, self._schema)))


def _attribute(key: str, value: Any) -> bytes:
    return _field(b"\x4a", _key_value(key, value))


_kept_attribute: Final = lru_cache(maxsize=1_024, typed=True)(_attribute)


def _key_value(key: str, value: Any) -> bytes:
    return _key(key) + _field(b"\x12", _any_value(value))


@lru_cache(maxsize=512)
def _key(key: str) -> bytes:
    """Nearly all keys are constants of ``names``; the bound is for those that applications choose."""
    return _text(b"\x0a", key)


@lru_cache(maxsize=128)
def _named(name: str) -> bytes:
    """Names hold registered tools and configured models only."""
    return _text(b"\x2a", name)


def _any_value(value: Any) -> bytes:
    """A value as the format knows it; what it does not know is left empty."""
    if isinstance(value, str):
        return _text(b"\x0a", value)
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    if isinstance(value, int):
        return b"\x18" + _varint(value & _64_BITS)
    if isinstance(value, float):
        return b"\x21" + _DOUBLE.pack(value)
    if isinstance(value, bytes):
        return _field(b"\x3a", value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return _field(b"\x32", b"".join([_field(b"\x0a", _key_value(str(key), each)) for key, each in pairs]))
    if isinstance(value, Sequence):
        items = cast("Sequence[Any]", value)
        return _field(b"\x2a", b"".join([_field(b"\x0a", _any_value(item)) for item in items]))
    return b""


def _event(event: SpanEvent) -> bytes:
    attributes = b"".join([_field(b"\x1a", _key_value(key, value)) for key, value in event.attributes.items()])
    return _field(b"\x5a", _TIME.pack(b"\x09", event.time_ns) + _text(b"\x12", event.name) + attributes)


def _link(linked: SpanId) -> bytes:
    trace_id, span_id = linked[0].to_bytes(16, "big"), linked[1].to_bytes(8, "big")
    return _field(b"\x6a", b"".join((b"\x0a\x10", trace_id, b"\x12\x08", span_id, _LINK_FLAGS)))


def _status(message: str) -> bytes:
    return _field(b"\x7a", (_text(b"\x12", message) if message else b"") + _ERROR)


def _text(tag: bytes, text: str) -> bytes:
    return _field(tag, text.encode(errors="replace"))


def _field(tag: bytes, content: bytes) -> bytes:
    size = len(content)
    return tag + (_SHORT[size] if size < 128 else _varint(size)) + content


def _varint(number: int) -> bytes:
    if number < 128:
        return _SHORT[number]
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)
