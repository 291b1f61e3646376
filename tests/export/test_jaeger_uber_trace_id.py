"""The header `uber-trace-id`, in and out, alone and against jaeger-client's own reading of it."""

from __future__ import annotations

import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from traced_loop import Loop, ScriptedModel
from traced_loop.export.uber_trace_id import HEADER, extract, inject, parsed, rendered
from traced_loop.testing import Spans, counted_wiring

span_contexts = st.builds(
    SpanContext,
    trace_id=st.integers(1, 2**128 - 1) | st.integers(1, 2**64 - 1),
    span_id=st.integers(1, 2**64 - 1),
    is_remote=st.booleans(),
    trace_flags=st.integers(0, 255).map(TraceFlags),
)
MALFORMED = [
    "",
    "abc",
    "1:2:3",
    "1:2:3:4:5",
    "0:2:0:1",
    "1:0:0:1",
    "g:2:0:1",
    "-1:2:0:1",
    "0x1:2:0:1",
    "1_0:2:0:1",
    "1: 2:0:1",
    f"{'1' * 33}:2:0:1",
    f"1:{'2' * 17}:0:1",
    "1:2:0:111",
    "1:2:0:",
    "1:2::1",
    "\N{ARABIC-INDIC DIGIT ONE}:2:0:1",
    "1:2:0:1\n1:2:0:1",
    "1" * 100_000,
    " " * 200 + "1:2:0:1",
    None,
    7,
    b"1:2:0:1",
]


def in_context(span: SpanContext) -> Context:
    """A context in which that span is the current one."""
    return trace.set_span_in_context(NonRecordingSpan(span), Context())


def current(context: Context) -> SpanContext:
    """The current span's."""
    return trace.get_current_span(context).get_span_context()


@given(span_contexts)
def test_what_is_rendered_is_parsed(context: SpanContext) -> None:
    """Ids come back whole, and of the flags only *sampled*: the next bit would be *debug* to Jaeger."""
    back = parsed(rendered(context))

    assert back is not None
    assert (back.trace_id, back.span_id) == (context.trace_id, context.span_id)
    assert back.trace_flags == context.trace_flags & 1
    assert back.is_remote


@given(span_contexts)
def test_what_is_injected_is_extracted(context: SpanContext) -> None:
    """Through headers, whatever the case of their names and whether their colons are escaped."""
    headers: dict[str, str] = {}
    inject(headers, in_context(context))

    for name, value in [
        (HEADER, headers[HEADER]),
        (HEADER.upper(), urllib.parse.quote(headers[HEADER])),
        ("Uber-Trace-Id", [headers[HEADER]]),
    ]:
        back = current(extract({name: value, "other": "x"}, Context()))
        assert (back.trace_id, back.span_id) == (context.trace_id, context.span_id)


@given(span_contexts)
def test_jaeger_client_reads_what_is_injected(context: SpanContext) -> None:
    """And what it writes is read here: the two ends of a site that is half moved."""
    codecs = pytest.importorskip("jaeger_client.codecs", reason="needs the extra jaeger-client")
    headers: dict[str, str] = {}
    inject(headers, in_context(context))

    far: Any = codecs.TextCodec(url_encoding=True).extract(headers)
    answer: dict[str, str] = {}
    codecs.TextCodec(url_encoding=True).inject(far, answer)

    assert (far.trace_id, far.span_id, far.flags) == (context.trace_id, context.span_id, context.trace_flags & 1)
    assert current(extract(answer, Context())).trace_id == context.trace_id


@pytest.mark.parametrize("value", MALFORMED)
def test_a_malformed_header_counts_as_absent(value: object) -> None:
    """The context stays what it was."""
    before = in_context(SpanContext(1, 2, is_remote=False))

    assert parsed(value) is None
    assert extract({HEADER: value}, before) is before


@given(
    st.dictionaries(st.text() | st.just(HEADER), st.text() | st.none() | st.binary() | st.lists(st.text()), max_size=4)
)
def test_no_headers_raise(headers: dict[str, Any]) -> None:
    """Headers come from strangers."""
    assert isinstance(extract(headers), Context)


@given(st.text(alphabet="0123456789abcdefABCDEF:% x", max_size=90))
def test_no_value_raises(value: str) -> None:
    """Nearly right ones least of all."""
    found = parsed(value)

    assert found is None or found.is_valid


def test_two_headers_that_disagree_count_as_none() -> None:
    """Nobody can say which one is the caller; twice the same is one."""
    one, other = "1:2:0:1", "3:4:0:1"

    assert not current(extract({HEADER: one, HEADER.upper(): other}, Context())).is_valid
    assert not current(extract({HEADER: [one, other]}, Context())).is_valid
    assert current(extract({HEADER: [one, one]}, Context())).span_id == 2


def test_the_debug_bit_is_neither_read_nor_written() -> None:
    """A caller's *debug* would force all later services to keep the trace; here it ends, and *sampled* goes on."""
    context = parsed("1:2:0:3")

    assert context is not None
    assert rendered(context) == "0000000000000001:0000000000000002:0:1"


def test_nothing_is_injected_where_no_span_is() -> None:
    """No header of zeros."""
    headers: dict[str, str] = {}

    inject(headers, Context())

    assert headers == {}


def test_a_run_becomes_a_child_of_the_caller() -> None:
    """With the extracted context attached, the run has the caller's trace id and the caller's span as its parent."""
    spans = Spans()
    token = attach(extract({HEADER: "463ac35c9f6413ad48485a3953bb6124:a2fb4a1d1a96d312:0:1"}))
    try:
        result = Loop(ScriptedModel(["42"]), wiring=counted_wiring(spans)).run("What is six times seven?")
    finally:
        detach(token)

    assert result.trace_id == "463ac35c9f6413ad48485a3953bb6124"
    assert spans.named("invoke_agent")[0].parent_id == 0xA2FB4A1D1A96D312
