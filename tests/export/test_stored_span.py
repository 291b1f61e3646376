"""A span of the store is sent as it was recorded; a damaged line is no span."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from traced_loop import names
from traced_loop.export.stored_span import StoredSpans
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.telemetry.span_record import SpanEvent, SpanRecord

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(TEXTS, max_size=3).map(tuple),
)
IDS = st.integers(1, 2**64 - 1)
EVENTS = st.builds(SpanEvent, IDS, TEXTS, st.dictionaries(TEXTS.filter(bool), VALUES, max_size=3))


@given(
    attributes=st.dictionaries(TEXTS.filter(bool), VALUES, max_size=5),
    ids=st.tuples(IDS, IDS, IDS),
    link=IDS,
    events=st.lists(EVENTS, max_size=2).map(tuple),
    kind=st.sampled_from(["INTERNAL", "CLIENT"]),
    error=st.booleans(),
    message=TEXTS,
)
def test_every_span_goes_out_as_it_was_recorded(
    attributes: dict[str, object],
    ids: tuple[int, int, int],
    link: int,
    events: tuple[SpanEvent, ...],
    kind: str,
    error: bool,
    message: str,
) -> None:
    """Down to the message that is sent; to whom it was owed stays at home."""
    record = SpanRecord(
        run_id="r",
        trace_id=ids[0],
        span_id=ids[1],
        parent_id=ids[2],
        name="a name",
        kind=kind,  # type: ignore[arg-type]
        start_ns=5,
        end_ns=7,
        root=False,
        brief=False,
        attributes=attributes,
        links=((ids[0], link),),
        events=events,
        error=error,
        message=message,
        exported=True,
    )
    encoder = LineEncoder({"service.name": "s"}, "scope", "1", {names.DELIVERY_DESTINATION: "somewhere"})

    span = StoredSpans().span(encoder.line(record))

    assert span is not None
    [sent] = encode_spans([span]).resource_spans
    [scope] = sent.scope_spans
    [proto] = scope.spans
    assert (scope.scope.name, scope.scope.version, len(scope.scope.attributes)) == ("scope", "1", 0)
    assert [a.value.string_value for a in sent.resource.attributes if a.key == "service.name"] == ["s"]
    assert (proto.trace_id, proto.span_id) == (ids[0].to_bytes(16, "big"), ids[1].to_bytes(8, "big"))
    assert proto.parent_span_id == ids[2].to_bytes(8, "big")
    assert (proto.start_time_unix_nano, proto.end_time_unix_nano) == (5, 7)
    assert (proto.kind, proto.status.code) == (1 if kind == "INTERNAL" else 3, 2 if error else 0)
    assert proto.status.message == (message if error else "")
    assert [each.span_id for each in proto.links] == [link.to_bytes(8, "big")]
    assert [(event.timestamp, event.name, dict(event.attributes or {})) for event in span.events] == list(events)
    assert [(each.time_unix_nano, each.name) for each in proto.events] == [event[:2] for event in events]
    assert dict(span.attributes or {}) == attributes
    assert len(proto.attributes) == len(attributes)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"null\n", b"[]\n", b'{"resourceSpans":[]}\n', b'{"resourceSpans":[{"scopeSpans":[{"scope":{}}]}]}\n'],
)
def test_a_damaged_line_is_no_span(line: bytes) -> None:
    """And no error either."""
    assert StoredSpans().span(line) is None


@given(st.binary(max_size=60))
def test_any_bytes_are_a_span_or_none(line: bytes) -> None:
    """Whatever a disk gives back."""
    assert StoredSpans().span(line) is None
