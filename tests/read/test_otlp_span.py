"""Spans of OTLP JSON in the forms that other writers give them."""

from __future__ import annotations

from typing import Any

import pytest

from traced_loop.read.otlp_json import MAX_PROBLEMS, read_document, resource_spans
from traced_loop.read.otlp_span import identifier
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def read(value: Any) -> tuple[list[StoredSpan], list[Problem]]:
    """Spans and problems of a document."""
    problems: list[Problem] = []
    return list(read_document(value, problems)), problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACE, TRACE),
        (TRACE.upper(), TRACE),
        ("CvdlGRbNQ92ESOshHIAxnA==", TRACE),
        ("CvdlGRbNQ92ESOshHIAxnA", TRACE),
        ("t61rcWkgMzE=", SPAN),
        (SPAN, SPAN),
        ("0" * 32, ""),
        ("AAAAAAAAAAA=", ""),
        ("", ""),
        ("short", "short"),
        ("!!!!!!!!!!!!", "!!!!!!!!!!!!"),
    ],
)
def test_an_id_is_hexadecimal_whatever_it_was(text: str, expected: str) -> None:
    """By its length: base64 of sixteen or eight bytes has another than hexadecimal; zeros are none."""
    assert identifier(text) == expected


def test_the_names_that_protobuf_has_for_fields_are_read() -> None:
    """As some dumps of messages have them."""
    written = {
        "trace_id": TRACE,
        "span_id": SPAN,
        "parent_span_id": "a" * 16,
        "start_time_unix_nano": "5",
        "end_time_unix_nano": 9,
        "attributes": [{"key": "k", "value": {"int_value": "7"}}, {"key": "s", "value": {"string_value": "x"}}],
    }
    [found], problems = read({"resource_spans": [{"scope_spans": [{"scope": {"name": "lib"}, "spans": [written]}]}]})
    assert problems == []
    assert (found.key, found.parent_id, found.start_ns, found.end_ns) == ((TRACE, SPAN), "a" * 16, 5, 9)
    assert (found.attributes, found.scope) == ({"k": 7, "s": "x"}, "lib")


def test_spans_of_the_first_versions_are_read() -> None:
    """Scopes were libraries then."""
    spans = [{"traceId": TRACE, "spanId": SPAN}]
    old = {"instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "lib"}, "spans": spans}]}
    [found], _ = read({"resourceSpans": [old]})
    assert found.scope == "lib"


@pytest.mark.parametrize(
    "value",
    [
        {"resourceSpans": [1]},
        {"batches": [1]},
        {"result": {"resourceSpans": [1]}},
        {"data": {"trace": {"resourceSpans": [1]}}},
        [{"resourceSpans": [1]}],
        {"data": [{"resourceSpans": [1]}]},
    ],
)
def test_the_list_is_found_in_what_others_wrap_it_in(value: object) -> None:
    """Answers of Jaeger and of Tempo, lists of documents."""
    assert resource_spans(value) == [1]


@pytest.mark.parametrize("value", [None, {}, [], 1, {"data": []}, {"x": {"resourceSpans": [1]}}, {"resourceSpans": 1}])
def test_other_values_have_no_such_list(value: object) -> None:
    """Nothing is searched for deeper down."""
    assert resource_spans(value) is None


def test_endless_problems_are_counted_and_not_listed() -> None:
    """A thousand are enough."""
    spans = [{"traceId": TRACE, "spanId": SPAN, "attributes": [{"value": 1}] * (MAX_PROBLEMS + 5)}]
    _, problems = read({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].kind is ProblemKind.MORE
    assert "5 more" in problems[-1].text
