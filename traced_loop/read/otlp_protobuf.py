"""OTLP in protobuf into stored spans: one ``TracesData`` or ``ExportTraceServiceRequest``, or a file of many.

A file of many has each behind its size: as four bytes, big-endian, which is what the Collector's file exporter writes,
or as a varint, which is protobuf's own way.
"""

import base64
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

# The messages of the format itself, generated from its schema, as the exporter has them; no part of the SDK.
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from traced_loop.read.otlp_span import KINDS, MAX_DEPTH, NESTED
from traced_loop.read.trace import Problem, ProblemKind, SpanEvent, SpanKind, SpanLink, StoredSpan

_ERROR: Final = 2
_TAG: Final = 0x0A
"""Begins every message that has spans: field 1, and its size."""


def read_protobuf(data: bytes, problems: list[Problem], *, name: str = "the input") -> list[StoredSpan] | None:
    """The spans of a file's bytes; None where they are no OTLP. What is wrong is appended to ``problems``."""
    for frames in (_whole, _behind_four_bytes, _behind_varints):
        found: list[Problem] = []
        messages = list(frames(data, found, name))
        if any(message.resource_spans for message in messages):
            problems.extend(found)
            reader = _Reader()
            return [span for message in messages for span in reader.spans(message)]
    return None


def _whole(data: bytes, problems: list[Problem], name: str) -> Iterator[TracesData]:
    message = _parsed(data)
    # What is no OTLP at all can still parse, as fields that nobody knows.
    if message is not None and data[:1] == bytes([_TAG]) and _has_spans(message):
        yield message


def _behind_four_bytes(data: bytes, problems: list[Problem], name: str) -> Iterator[TracesData]:
    place = 0
    while place + 4 <= len(data):
        (size,) = struct.unpack_from(">I", data, place)
        message = _parsed(data[place + 4 : place + 4 + size]) if place + 4 + size <= len(data) else None
        yield from _taken(message, place, problems, name)
        place += 4 + size
    _check_end(place, data, problems, name)


def _behind_varints(data: bytes, problems: list[Problem], name: str) -> Iterator[TracesData]:
    place = 0
    while place < len(data):
        size, begin = _varint(data, place)
        message = _parsed(data[begin : begin + size]) if begin + size <= len(data) else None
        yield from _taken(message, place, problems, name)
        place = begin + size
    _check_end(place, data, problems, name)


def _taken(message: TracesData | None, place: int, problems: list[Problem], name: str) -> Iterator[TracesData]:
    if message is not None:
        yield message
    else:
        text = f"{name}: the message at byte {place} cannot be read and was left out"
        problems.append(Problem(kind=ProblemKind.UNREADABLE_LINE, text=text))


def _check_end(place: int, data: bytes, problems: list[Problem], name: str) -> None:
    if place != len(data):
        text = f"{name}: the last message has no end: the writer was killed, or writes now"
        problems.append(Problem(kind=ProblemKind.TORN_LINE, text=text))


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number and where what follows it begins."""
    number = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            break
    return number, place


def _parsed(data: bytes) -> TracesData | None:
    try:
        message: TracesData = TracesData.FromString(data)
    except (DecodeError, RecursionError):
        return None
    return message


def _has_spans(message: TracesData) -> bool:
    return any(scope.spans for found in message.resource_spans for scope in found.scope_spans)


class _Reader:
    """Makes stored spans; equal keys and names are kept once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def spans(self, message: TracesData) -> Iterator[StoredSpan]:
        """Every span of a message."""
        for found in message.resource_spans:
            resource = self._attributes(found.resource.attributes)
            for scope in found.scope_spans:
                for span in scope.spans:
                    yield self._span(span, self._once(scope.scope.name), resource)

    def _span(self, raw: Any, scope: str, resource: dict[str, Any]) -> StoredSpan:
        end: int = raw.end_time_unix_nano
        return StoredSpan(
            trace_id=self._once(_identifier(raw.trace_id)),
            span_id=_identifier(raw.span_id),
            parent_id=_identifier(raw.parent_span_id),
            name=self._once(raw.name),
            kind=_kind(raw.kind),
            start_ns=raw.start_time_unix_nano,
            end_ns=end,
            attributes=self._attributes(raw.attributes),
            links=tuple([self._link(link) for link in raw.links]),
            events=tuple([self._event(event) for event in raw.events]),
            is_error=raw.status.code == _ERROR,
            status_message=raw.status.message,
            is_open=end == 0,
            scope=scope,
            resource=resource,
        )

    def _link(self, raw: Any) -> SpanLink:
        return SpanLink(
            trace_id=_identifier(raw.trace_id),
            span_id=_identifier(raw.span_id),
            attributes=self._attributes(raw.attributes),
        )

    def _event(self, raw: Any) -> SpanEvent:
        return SpanEvent(
            time_ns=raw.time_unix_nano, name=self._once(raw.name), attributes=self._attributes(raw.attributes)
        )

    def _attributes(self, pairs: Iterable[Any]) -> dict[str, Any]:
        return {self._once(pair.key): _value(pair.value, MAX_DEPTH) for pair in pairs}

    def _once(self, text: str) -> str:
        return self._known.setdefault(text, text)


def _value(raw: Any, depth: int) -> Any:
    kind: str | None = raw.WhichOneof("value")
    if kind is None:
        return None
    if kind == "bytes_value":
        return base64.b64encode(raw.bytes_value).decode()  # as the JSON mapping has it
    if kind not in ("array_value", "kvlist_value"):
        return getattr(raw, kind)
    if depth == 0:
        return NESTED
    if kind == "array_value":
        return tuple(_value(item, depth - 1) for item in raw.array_value.values)
    return {pair.key: _value(pair.value, depth - 1) for pair in raw.kvlist_value.values}


def _identifier(raw: bytes) -> str:
    return raw.hex() if any(raw) else ""


def _kind(number: int) -> SpanKind:
    return KINDS[number] if 0 <= number < len(KINDS) else "UNSPECIFIED"
