"""No request is larger than receivers take, whatever is in its spans; the count is never below what is encoded."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags
from opentelemetry.trace.span import TraceState

from traced_loop import names
from traced_loop.export.delivery import Pipeline
from traced_loop.export.jaeger import thrift_parts
from traced_loop.export.jaeger.packing import messages
from traced_loop.export.jaeger.span_translation import jaeger_process, jaeger_span
from traced_loop.export.otlp import build_provider
from traced_loop.export.request_size import MAX_REQUEST_BYTES, requests, span_bytes
from traced_loop.telemetry.span_attributes import MAX_SPAN_BYTES, VITAL, attributes_bytes
from traced_loop.telemetry.spans import Telemetry

from ..nightly import examples
from .collector import collector

FOUR_MIB = 4 * 1024 * 1024
PLAIN = Resource({})


def some_text(chance: Random) -> str:
    """Of one to four bytes a character, up to some thousand of them."""
    return chance.choice(["x", "ä", "\U0001f600", "\x00", "€"]) * chance.choice([0, 1, 20, 300, 5_000])


def some_value(chance: Random, depth: int = 0) -> Any:
    """Of every type that the SDK lets through."""
    text = some_text(chance)
    if depth < 3 and chance.random() < 0.3:
        inner = [some_value(chance, depth + 1) for _ in range(chance.randrange(5))]
        return chance.choice([inner, {f"{text[:9]}{n}": value for n, value in enumerate(inner)}])
    return chance.choice([text, text.encode(), chance.getrandbits(62), -1, 0.5, True, None, [1] * 40, [True] * 40])


def some_attributes(chance: Random) -> dict[str, Any]:
    """Up to nine."""
    return {f"{some_text(chance)[:99]}{n}": some_value(chance) for n in range(chance.randrange(10))}


def context(number: int, state: TraceState | None = None) -> SpanContext:
    """A sampled one."""
    return SpanContext(1, number, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED), trace_state=state)


def some_span(chance: Random, number: int, resources: list[Resource]) -> ReadableSpan:
    """With events, links, a status and a trace state."""
    state = TraceState([(f"k{n}", "v" * 200) for n in range(chance.randrange(30))])
    scope = InstrumentationScope(some_text(chance), some_text(chance), some_text(chance)[:99], some_attributes(chance))
    return ReadableSpan(
        some_text(chance),
        context=context(number, state),
        parent=context(9, state),
        resource=chance.choice(resources),
        attributes=some_attributes(chance),
        events=[Event(some_text(chance), some_attributes(chance)) for _ in range(chance.randrange(9))],
        links=[Link(context(8, state), some_attributes(chance)) for _ in range(chance.randrange(9))],
        status=Status(StatusCode.ERROR, some_text(chance)),
        start_time=2**62,
        end_time=2**62 + 1,
        instrumentation_scope=chance.choice([scope, None]),
    )


@settings(max_examples=examples(15, 1_000))  # two dozen large spans each
@given(st.integers(0, 2**32).map(Random))
def test_requests_are_counted_truly(chance: Random) -> None:
    """As the real encoder makes them: resources and scopes, other alphabets, nested values, events and links."""
    resources = [Resource(some_attributes(chance), some_text(chance)) for _ in range(3)]
    spans = [some_span(chance, number, resources) for number in range(1, 25)]

    sent = list(requests(spans))

    assert [span for batch in sent for span in batch] == spans
    sizes = [encode_spans(batch).ByteSize() for batch in sent]
    assert max(sizes) <= MAX_REQUEST_BYTES
    assert encode_spans(spans).ByteSize() <= 2 * sum(sizes)
    for span in spans:
        [message] = encode_spans([span]).resource_spans[0].scope_spans[0].spans
        assert message.ByteSize() <= span_bytes(span)


def test_a_large_resource_is_in_each_request_and_counts_in_each() -> None:
    """Two megabytes of it leave room for one and a half."""
    resource = Resource({"text": "ä" * 1_000_000})
    spans = [
        ReadableSpan("span", context=context(n + 1), resource=resource, attributes={"k": "x" * 100_000})
        for n in range(50)
    ]
    sent = list(requests(spans))
    assert sum(map(len, sent)) == 50
    assert max(encode_spans(batch).ByteSize() for batch in sent) <= MAX_REQUEST_BYTES
    assert len(sent) == 4


def test_a_span_that_fits_into_no_request_is_cut_down_instead_of_refused() -> None:
    """Of a library; what it lost is counted on it, and its neighbours are whole."""
    attributes = {"huge": "x" * 10_000_000, "small": 7, **{f"k{n}": "y" * 10_000 for n in range(200)}}
    events = [Event("e", {"k": "x" * 1_000_000}) for _ in range(5)]
    large = ReadableSpan("n" * 100_000, context=context(1), resource=PLAIN, attributes=attributes, events=events)
    small = ReadableSpan("small", context=context(2), resource=PLAIN)

    [[cut_down, whole]] = requests([large, small])

    kept = dict(cut_down.attributes or {})
    assert whole is small
    assert encode_spans([cut_down]).ByteSize() < FOUR_MIB
    assert (kept["small"], "huge" in kept, cut_down.context) == (7, False, large.context)
    assert kept[names.EXPORT_TRIMMED] == len(attributes) - (len(kept) - 1) + len(events)


class Taking(SpanExporter):
    def __init__(self, taken: list[ReadableSpan]) -> None:
        self.taken = taken

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken += spans
        return SpanExportResult.SUCCESS


def worst_spans(pipeline: Pipeline, count: int, character: str) -> None:
    """A run of spans of ours that are as large as can be: full of text, in one long breath."""
    telemetry = Telemetry(tracer=pipeline.provider.get_tracer("traced_loop"))
    full = {**dict.fromkeys(sorted(VITAL), character * 250), **{f"key{n}": character * 4_096 for n in range(37)}}
    links = [(2**128 - 1, 2**64 - 1 - number) for number in range(40)]
    with telemetry.run(telemetry.scope("run-1"), "run", {}):
        for _ in range(count):
            with telemetry.span(character * 200, full, links=links, kind="CLIENT") as span:
                span.set({f"late{n}": character * 4_096 for n in range(30)})
                span.fail("E" * 300, character * 4_096)
            assert attributes_bytes(span.record.attributes) > 0.85 * MAX_SPAN_BYTES


@pytest.mark.parametrize("character", ["€", "\x00"], ids=["euro", "nul"])
def test_a_queue_of_the_largest_spans_goes_out_in_requests_that_are_taken(character: str) -> None:
    """Nine megabytes in one export call; none is lost."""
    with collector() as receiver:
        pipeline = build_provider("otlp", receiver.endpoint)
        worst_spans(pipeline, 300, character)
        assert pipeline.close(60)
    assert len({span.span_id for span in receiver.spans}) == len(receiver.spans) == 301
    assert max(receiver.sizes) < FOUR_MIB
    assert max(span.ByteSize() for span in receiver.spans) <= MAX_SPAN_BYTES


def test_a_span_on_the_console_is_small_too() -> None:
    """As JSON a control character takes six bytes."""
    out = io.StringIO()
    pipeline = Pipeline(ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n"), "here")
    worst_spans(pipeline, 3, "\x00")
    assert pipeline.close(30)
    lines = out.getvalue().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["SpanKind.CLIENT"] * 3 + ["SpanKind.INTERNAL"]
    assert max(map(len, lines)) < FOUR_MIB // 16


@pytest.mark.parametrize("wire", [thrift_parts.AgentPacket(), thrift_parts.CollectorRequest()])
def test_jaegers_messages_keep_to_their_limits(wire: thrift_parts.Wire) -> None:
    """A packet of 65,000 bytes takes the largest span whole."""
    taken: list[ReadableSpan] = []
    pipeline = Pipeline(Taking(taken), "here")
    worst_spans(pipeline, 150, "€")
    assert pipeline.close(30)

    sent = list(messages(jaeger_process(PLAIN), map(jaeger_span, taken), wire))

    assert (sum(message.spans for message in sent), sum(message.trimmed for message in sent)) == (151, 0)
    assert max(len(message.data) for message in sent) <= wire.limit
