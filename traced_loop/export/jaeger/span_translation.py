"""OpenTelemetry spans in Jaeger's words: those of the OpenTelemetry specification that Jaeger 2 reads back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import StatusCode

from traced_loop import names
from traced_loop.export.jaeger import thrift_parts

SPAN_KIND: Final = "span.kind"
ERROR: Final = "error"
EVENT_NAME: Final = "event"
"""The one log field whose value Jaeger 2 takes for the event's name."""
SAMPLED: Final = 1
"""The next bit means *random trace id* to W3C and *debug, never drop* to Jaeger, so only this one is passed on."""


def jaeger_span(span: ReadableSpan) -> thrift_parts.Span:
    """The span with its parent and links as references, its events as logs, and the rest as tags."""
    context = span.get_span_context()
    if context is None:
        raise ValueError(f"span {span.name!r} has no context")
    parent = span.parent
    start = span.start_time or 0
    links = [thrift_parts.follows_from(link.context.trace_id, link.context.span_id) for link in span.links]
    return thrift_parts.span(
        trace_id=context.trace_id,
        span_id=context.span_id,
        parent_id=parent.span_id if parent is not None else 0,
        name=span.name,
        flags=context.trace_flags & SAMPLED,
        start_ns=start,
        end_ns=span.end_time or start,
        references=[thrift_parts.child_of(parent.trace_id, parent.span_id), *links] if parent is not None else links,
        tags=_tags({**_known(span), **_application(span)}),
        logs=[_log(event) for event in span.events],
    )


def jaeger_process(resource: Resource) -> thrift_parts.Process:
    """The resource as process tags; ``service.name`` is the name of the process."""
    given = {key: value for key, value in resource.attributes.items() if key != SERVICE_NAME}
    service = str(resource.attributes.get(SERVICE_NAME) or names.SERVICE_NAME_DEFAULT)
    return thrift_parts.process(service, _tags(given))


def _known(span: ReadableSpan) -> dict[str, Any]:
    """What is no attribute in OpenTelemetry and a tag in Jaeger."""
    known: dict[str, Any] = {SPAN_KIND: span.kind.name.lower()}
    if span.status.status_code is not StatusCode.UNSET:
        known["otel.status_code"] = span.status.status_code.name
    if span.status.description:
        known["otel.status_description"] = span.status.description
    if span.instrumentation_scope is not None:
        known["otel.scope.name"] = span.instrumentation_scope.name
        if span.instrumentation_scope.version:
            known["otel.scope.version"] = span.instrumentation_scope.version
    if span.context is not None and span.context.trace_state:
        known["w3c.tracestate"] = span.context.trace_state.to_header()
    dropped = {"attributes": span.dropped_attributes, "events": span.dropped_events, "links": span.dropped_links}
    known.update({f"otel.dropped_{what}_count": count for what, count in dropped.items() if count})
    return known


def _application(span: ReadableSpan) -> Mapping[str, Any]:
    """The attributes, which win: OpenTracing's ``span.kind`` among them says more than a kind that was never set."""
    given = dict(span.attributes or {})
    if span.status.status_code is StatusCode.ERROR:
        given[ERROR] = True
    return given


def _log(event: Event) -> thrift_parts.Log:
    fields = {**(event.attributes or {}), EVENT_NAME: event.name}
    return thrift_parts.log(event.timestamp, _tags(fields))


def _tags(attributes: Mapping[str, Any]) -> Iterator[thrift_parts.Tag]:
    return (thrift_parts.tag(key, value) for key, value in attributes.items())


def by_resource(spans: Sequence[ReadableSpan]) -> Iterator[tuple[Resource, list[ReadableSpan]]]:
    """The spans in groups of one resource each, which is one group unless an application has several providers."""
    groups: dict[int, tuple[Resource, list[ReadableSpan]]] = {}
    for span in spans:
        groups.setdefault(id(span.resource), (span.resource, []))[1].append(span)
    yield from groups.values()
