"""The records of spans that a dead process left open, ended in the words in which it began them.

A span is written as the process wrote its start: the same ids, resource and scope, so that whatever was owed for it to
a collector still is.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.read.trace import SpanKey
from traced_loop.recovery.span_ends import CRASHED, SpanEnd

_ERROR: Final = 2


def ended_lines(starts: Iterable[bytes], ends: Mapping[SpanKey, SpanEnd]) -> dict[SpanKey, bytes]:
    """A line of OTLP JSON for each span that is to be ended and whose start is there.

    Args:
        starts: lines of OTLP JSON with one span each; what cannot be read is passed over.
        ends: how spans are ended, by trace id and span id.
    """
    found: dict[SpanKey, bytes] = {}
    for line in starts:
        for around, span in _spans(line):
            key = str(span.get("traceId")), str(span.get("spanId"))
            end = ends.get(key)
            if end is not None:
                text = json.dumps(around(_ended(span, end)), separators=(",", ":"), ensure_ascii=False)
                found[key] = text.encode(errors="replace") + b"\n"
    return found


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file; none where there is no such file.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


def is_torn(path: Path) -> bool:
    """Whether the last line of a file has no end, so that a line after it would be lost with it.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size == 0:
                return False
            file.seek(size - 1)
            return file.read(1) != b"\n"
    except FileNotFoundError:
        return False


Request = Callable[[dict[str, Any]], dict[str, Any]]
"""Puts a span into the resource and scope that it was read from."""


def _spans(line: bytes) -> Iterator[tuple[Request, Mapping[str, Any]]]:
    try:
        request = as_object(json.loads(line)) or {}
    except (ValueError, RecursionError):
        return
    for resource_spans in _objects(request, "resourceSpans"):
        for scope_spans in _objects(resource_spans, "scopeSpans"):
            for span in _objects(scope_spans, "spans"):
                yield partial(_around, resource_spans, scope_spans), span


def _around(
    resource_spans: Mapping[str, Any], scope_spans: Mapping[str, Any], span: Mapping[str, Any]
) -> dict[str, Any]:
    return {"resourceSpans": [{**resource_spans, "scopeSpans": [{**scope_spans, "spans": [span]}]}]}


def _objects(holder: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    for item in as_list(holder.get(key)) or []:
        found = as_object(item)
        if found is not None:
            yield found


def _ended(span: Mapping[str, Any], end: SpanEnd) -> dict[str, Any]:
    kept = [pair for pair in as_list(span.get("attributes")) or [] if _key(pair) not in end.attributes]
    return {
        **span,
        "endTimeUnixNano": str(end.end_ns),
        "attributes": [*kept, *({"key": key, "value": _value(value)} for key, value in end.attributes.items())],
        "status": {"code": _ERROR, "message": CRASHED} if end.is_error else {},
    }


def _key(pair: object) -> str | None:
    return as_text((as_object(pair) or {}).get("key"))


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, tuple):
        return {"arrayValue": {"values": [_value(item) for item in cast("tuple[Any, ...]", value)]}}
    return {"stringValue": value}
