"""A span of the store as the standard exporters take it: with the ids, times and attributes that were recorded."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from traced_loop import names

_KEPT_HOME: Final = frozenset({names.DELIVERY_DESTINATION, names.DELIVERY_SAMPLING})
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class StoredSpans:
    """Reads lines of one store; spans that share a resource and a scope share the objects for them."""

    def __init__(self) -> None:
        self._shared: dict[str, tuple[Resource, InstrumentationScope]] = {}

    def span(self, line: bytes) -> ReadableSpan | None:
        """The span of one line; None where the line is damaged."""
        try:
            resource = json.loads(line)["resourceSpans"][0]
            scope = resource["scopeSpans"][0]
            shared = self._shared_by(resource.get("resource", {}), scope["scope"])
            return _span(scope["spans"][0], *shared)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def _shared_by(
        self, resource: Mapping[str, Any], scope: Mapping[str, Any]
    ) -> tuple[Resource, InstrumentationScope]:
        key = json.dumps([resource, scope])
        known = self._shared.get(key)
        if known is None:
            more = {k: v for k, v in _attributes(scope.get("attributes", ())).items() if k not in _KEPT_HOME}
            made = InstrumentationScope(scope["name"], scope.get("version"), attributes=more or None)
            known = self._shared[key] = Resource(_attributes(resource.get("attributes", ()))), made
        return known


def _span(given: Mapping[str, Any], resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    context = _context(given)
    parent = given.get("parentSpanId")
    status = given.get("status", {})
    return ReadableSpan(
        given["name"],
        context=context,
        parent=_context({**given, "spanId": parent}) if parent else None,
        resource=resource,
        attributes=_attributes(given["attributes"]),
        events=[_event(event) for event in given.get("events", ())],
        links=[Link(_context(link)) for link in given.get("links", ())],
        kind=SpanKind(given["kind"] - 1),
        status=Status(StatusCode(status.get("code", 0)), status.get("message") or None),
        start_time=int(given["startTimeUnixNano"]),
        end_time=int(given["endTimeUnixNano"]),
        instrumentation_scope=scope,
    )


def _event(given: Mapping[str, Any]) -> Event:
    return Event(given["name"], _attributes(given["attributes"]), int(given["timeUnixNano"]))


def _context(given: Mapping[str, Any]) -> SpanContext:
    return SpanContext(int(given["traceId"], 16), int(given["spanId"], 16), is_remote=False, trace_flags=_SAMPLED)


def _attributes(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in pairs}


def _value(value: Mapping[str, Any]) -> Any:
    ((kind, plain),) = value.items()
    if kind == "intValue":
        return int(plain)
    if kind == "doubleValue":
        return float(plain)
    if kind == "arrayValue":
        return tuple(_value(each) for each in plain["values"])
    return plain
