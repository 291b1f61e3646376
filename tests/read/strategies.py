"""Stored spans of any kind, for the tests of chance."""

from __future__ import annotations

from hypothesis import strategies as st

from traced_loop import names
from traced_loop.read.trace import SpanEvent, SpanLink, StoredSpan

KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
KEYS = st.text("abc._", min_size=1, max_size=6).map(lambda text: f"k.{text}")
SCALARS = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    st.one_of(SCALARS, st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
TIMES = st.integers(1, 2**62)


def identifiers(digits: int) -> st.SearchStrategy[str]:
    """Ids in hexadecimal; never all zeros, which stand for none."""
    return st.integers(1, 16**digits - 1).map(lambda number: f"{number:0{digits}x}")


@st.composite
def stored_spans(draw: st.DrawFn, *, jaeger: bool = False) -> StoredSpan:
    """A span; one that Jaeger's JSON can carry has whole microseconds, scalars, and the name of a service."""
    values = SCALARS if jaeger else VALUES
    unit = 1000 if jaeger else 1
    attributes = st.dictionaries(KEYS, values, max_size=4)
    start = draw(st.integers(1, 2**50)) * unit
    is_open = not jaeger and draw(st.booleans())
    is_error = draw(st.booleans())
    events = st.builds(
        SpanEvent,
        time_ns=TIMES.map(lambda time: time // 1000 // unit * unit),
        name=TEXT.filter(bool) if jaeger else TEXT,
        attributes=attributes,
    )
    links = st.builds(
        SpanLink,
        trace_id=identifiers(32),
        span_id=identifiers(16),
        attributes=st.just({}) if jaeger else attributes,
    )
    service = {"service.name": draw(TEXT.filter(bool))} if jaeger else {}
    return StoredSpan(
        trace_id=draw(identifiers(32)),
        span_id=draw(identifiers(16)),
        parent_id=draw(st.one_of(st.just(""), identifiers(16))),
        name=draw(TEXT),
        kind=draw(st.sampled_from(KINDS)),
        start_ns=start,
        end_ns=0 if is_open else start + draw(st.integers(0, 10**9)) * unit,
        attributes=draw(attributes),
        links=tuple(draw(st.lists(links, max_size=2))),
        events=tuple(draw(st.lists(events, max_size=2))),
        is_error=is_error,
        status_message=draw(TEXT) if is_error else "",
        is_open=is_open,
        scope=draw(TEXT),
        resource={**draw(attributes), **service},
    )


@st.composite
def forests(draw: st.DrawFn) -> list[StoredSpan]:
    """Spans of any number of trees, damaged in any way: orphans, circles, doubled ids, no times or turned ones."""
    count = draw(st.integers(0, 12))
    ids = st.integers(1, count + 2).map(str)
    return [
        StoredSpan(
            trace_id=draw(st.sampled_from(["a", "b"])),
            span_id=draw(ids) if draw(st.integers(0, 5)) == 0 else str(n + 1),
            parent_id=draw(st.one_of(st.just(""), ids)),
            name=draw(st.sampled_from(["step", names.ATTEMPT, names.LATE_COMPLETION, names.AUTHORIZE_CALL])),
            start_ns=draw(st.integers(0, 60)),
            end_ns=draw(st.integers(0, 60)),
            is_open=draw(st.integers(0, 4)) == 0,
            attributes=draw(
                st.sampled_from(
                    [
                        {},
                        {names.GEN_AI_OPERATION: names.INVOKE_AGENT},
                        {names.ATTEMPT_NUMBER: 2},
                        {names.CONFIRMATION_STATE: "approved", names.CONFIRMATION_WAIT_MS: 7},
                    ]
                )
            ),
            links=tuple(SpanLink(trace_id="a", span_id=linked) for linked in draw(st.lists(ids, max_size=2))),
        )
        for n in range(count)
    ]
