"""Starts of spans are ended in the words in which they were written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.recovery.open_spans import ended_lines
from traced_loop.recovery.span_ends import SpanEnd

KEY = ("0" * 31 + "1", "0" * 15 + "2")
START = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "traced_loop", "version": "1", "attributes": [{"key": "x", "value": {}}]},
                    "spans": [
                        {
                            "traceId": KEY[0],
                            "spanId": KEY[1],
                            "parentSpanId": "",
                            "name": "chat m",
                            "endTimeUnixNano": "0",
                            "attributes": [
                                {"key": "a", "value": {"stringValue": "kept"}},
                                {"key": "b", "value": {"intValue": "1"}},
                            ],
                            "status": {},
                        }
                    ],
                }
            ],
        }
    ]
}


def test_resource_scope_and_ids_are_those_of_the_start_and_values_have_their_types() -> None:
    """An attribute that is set at the end replaces the one of the start."""
    end = SpanEnd(end_ns=7, attributes={"b": 2, "c": True, "d": 0.5, "e": ("x", "y"), "f": "ü"})

    lines = ended_lines([json.dumps(START).encode()], {KEY: end})

    [found] = json.loads(lines[KEY])["resourceSpans"]
    [scope] = found["scopeSpans"]
    [span] = scope["spans"]
    assert found["resource"] == START["resourceSpans"][0]["resource"]
    assert scope["scope"] == START["resourceSpans"][0]["scopeSpans"][0]["scope"]  # type: ignore[index]
    assert (span["spanId"], span["name"], span["endTimeUnixNano"]) == (KEY[1], "chat m", "7")
    assert span["status"] == {"code": 2, "message": "unknown_after_crash"}
    assert span["attributes"] == [
        {"key": "a", "value": {"stringValue": "kept"}},
        {"key": "b", "value": {"intValue": "2"}},
        {"key": "c", "value": {"boolValue": True}},
        {"key": "d", "value": {"doubleValue": 0.5}},
        {"key": "e", "value": {"arrayValue": {"values": [{"stringValue": "x"}, {"stringValue": "y"}]}}},
        {"key": "f", "value": {"stringValue": "ü"}},
    ]


def test_a_span_that_did_not_fail_gets_no_error() -> None:
    """A call that the ledger knows to have succeeded."""
    lines = ended_lines([json.dumps(START).encode()], {KEY: SpanEnd(end_ns=7, is_error=False)})

    [span] = json.loads(lines[KEY])["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert span["status"] == {}


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(["resourceSpans", "scopeSpans", "spans", "traceId"]), inner, max_size=3
                    )
                ),
                max_leaves=12,
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=4,
    )
)
def test_whatever_else_is_in_the_file_the_start_is_found(junk: list[bytes]) -> None:
    """Lines that cannot be read are passed over."""
    assert list(ended_lines([*junk, json.dumps(START).encode()], {KEY: SpanEnd(end_ns=7)})) == [KEY]
