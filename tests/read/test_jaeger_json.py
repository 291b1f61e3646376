"""Jaeger's own JSON, of this year and of the years before OpenTelemetry."""

from __future__ import annotations

from typing import Any

import pytest

from traced_loop.read.jaeger_json import read_traces, traces_of
from traced_loop.read.trace import ProblemKind, SpanLink, StoredSpan

TRACE = "0af7651916cd43dd8448eb211c80319c"


def tag(key: str, value: Any, kind: str = "string") -> dict[str, Any]:
    """One tag."""
    return {"key": key, "type": kind, "value": value}


def span(**more: Any) -> dict[str, Any]:
    """One span as Jaeger has it."""
    fields: dict[str, Any] = {
        "traceID": TRACE,
        "spanID": "b7ad6b7169203331",
        "operationName": "chat",
        "references": [],
        "startTime": 1_700_000_000_000_000,
        "duration": 1_000_000,
        "tags": [],
        "logs": [],
        "processID": "p1",
        "warnings": None,
    }
    return {**fields, **more}


def read(*spans: Any, **more: Any) -> tuple[list[StoredSpan], list[tuple[ProblemKind, str]]]:
    """The spans of one trace, and what is said of it."""
    said: list[tuple[ProblemKind, str]] = []
    process = {"serviceName": "svc", "tags": [tag("host.name", "h")]}
    trace = {"traceID": TRACE, "spans": list(spans), "processes": {"p1": process}, **more}
    traces = traces_of({"data": [trace]})
    assert traces is not None
    return list(read_traces(traces, lambda kind, text: said.append((kind, text)))), said


def one(**more: Any) -> StoredSpan:
    """The span of one, about which nothing is said."""
    [found], said = read(span(**more))
    assert said == []
    return found


def test_times_are_nanoseconds_and_the_process_is_the_resource() -> None:
    """Jaeger has microseconds."""
    found = one()
    assert (found.start_ns, found.end_ns) == (1_700_000_000_000_000_000, 1_700_000_001_000_000_000)
    assert found.resource == {"service.name": "svc", "host.name": "h"}
    assert one(startTime=1.5, duration=0.25).end_ns == 1750


def test_what_opentelemetry_has_fields_for_is_no_attribute() -> None:
    """Status, its message, kind and scope are tags there."""
    found = one(
        tags=[
            tag("otel.status_code", "ERROR"),
            tag("otel.status_description", "no"),
            tag("error", True, "bool"),
            tag("span.kind", "client"),
            tag("otel.scope.name", "lib"),
            tag("otel.scope.version", "1"),
            tag("internal.span.format", "otlp"),
            tag("x", 1, "int64"),
        ]
    )
    assert (found.is_error, found.status_message, found.kind, found.scope) == (True, "no", "CLIENT", "lib")
    assert found.attributes == {"x": 1}


@pytest.mark.parametrize(("value", "expected"), [(True, True), ("true", True), (False, False), ("false", False)])
def test_an_error_of_opentracing_is_one(value: object, expected: bool) -> None:
    """Where nobody says a status; a status that says otherwise stands over it."""
    assert one(tags=[tag("error", value)]).is_error is expected
    assert one(tags=[tag("error", value), tag("otel.status_code", "OK")]).is_error is False


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ("12", "int64", 12),
        (12, "int64", 12),
        ("x", "int64", "x"),
        (1, "float64", 1.0),
        ("0.5", "float64", 0.5),
        ("true", "bool", True),
        (None, "string", None),
        ("AAE=", "binary", "AAE="),
        ('["stop"]', "string", '["stop"]'),
    ],
)
def test_values_have_the_type_that_the_tag_names(given: object, kind: str, expected: object) -> None:
    """Old clients write numbers as text; a list stays the text that it has become."""
    assert one(tags=[tag("k", given, kind)]).attributes == {"k": expected}


def test_one_reference_is_the_parent_and_the_others_are_links() -> None:
    """The first CHILD_OF of this trace; another trace's is a link."""
    references = [
        {"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": "1"},
        {"refType": "CHILD_OF", "traceID": "f", "spanID": "2"},
        {"refType": "CHILD_OF", "traceID": TRACE, "spanID": "3"},
    ]
    found = one(references=references)
    assert found.parent_id == "3".zfill(16)
    assert found.links == (
        SpanLink(trace_id=TRACE, span_id="1".zfill(16)),
        SpanLink(trace_id="f".zfill(32), span_id="2".zfill(16)),
    )


def test_following_alone_is_a_parent_without_opentelemetry() -> None:
    """In OpenTracing that is how asynchronous work is placed; in OpenTelemetry it is a link."""
    references = [{"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": "1"}]
    assert one(references=references).parent_id == "1".zfill(16)
    linked = one(references=references, tags=[tag("otel.scope.name", "lib")])
    assert (linked.parent_id, len(linked.links)) == ("", 1)


def test_the_parent_of_old_versions_is_read() -> None:
    """In a field of its own, beside its reference or without one; ids without the zeros in front."""
    reference = {"refType": "CHILD_OF", "traceID": TRACE, "spanID": "a"}
    for references in ([], [reference]):
        found = one(spanID="b", parentSpanID="a", references=references)
        assert (found.span_id, found.parent_id, found.links) == ("b".zfill(16), "a".zfill(16), ())


def test_a_log_is_an_event_with_its_name() -> None:
    """Under ``event``, or ``message`` in older ones."""
    logs = [
        {"timestamp": 1, "fields": [tag("event", "exception"), tag("exception.type", "ValueError")]},
        {"timestamp": 2, "fields": [tag("message", "hello")]},
    ]
    first, second = one(logs=logs).events
    assert (first.time_ns, first.name, first.attributes) == (1000, "exception", {"exception.type": "ValueError"})
    assert (second.name, second.attributes) == ("hello", {})


def test_what_jaeger_warns_of_is_passed_on_once() -> None:
    """Of the trace and of each span."""
    warning = 'invalid parent span IDs="00f067aa0ba902b7"; skipping clock skew adjustment'
    _, said = read(span(warnings=[warning]), span(spanID="1", warnings=[warning]), warnings=["x"])
    assert said == [
        (ProblemKind.SENDER_WARNING, "Jaeger warns: x"),
        (ProblemKind.SENDER_WARNING, f"Jaeger warns: {warning}"),
    ]


def test_a_span_with_its_own_process_has_its_resource() -> None:
    """As storages have it."""
    found = one(process={"serviceName": "own", "tags": []}, processID=None)
    assert found.resource == {"service.name": "own"}


def test_odd_values_are_said_and_left_out() -> None:
    """The span is kept."""
    [found], said = read(
        "no span",
        span(spanID=None, startTime="soon", duration=-1, tags=[tag("k", {}), {"value": 1}, "x"], logs=[1]),
    )
    assert found.attributes == {}
    assert [kind for kind, _ in said] == [ProblemKind.ODD_VALUE] * 7


@pytest.mark.parametrize(
    "value", [None, {}, [], {"data": None}, {"data": [1]}, {"data": [{}]}, [{"spans": 1}], {"spans": []}, "x"]
)
def test_what_is_none_of_jaegers_is_told_from_it(value: object) -> None:
    """A list of spans and an id or processes make a trace."""
    assert traces_of(value) is None
