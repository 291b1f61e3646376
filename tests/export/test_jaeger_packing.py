"""Messages keep to their limit, and what is cut is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import names
from traced_loop.export.jaeger import thrift_parts
from traced_loop.export.jaeger.packing import Message, messages
from traced_loop.export.jaeger.span_translation import jaeger_span

from .jaeger_endpoints import Recorded, made_spans, read_body, read_packet, values

UDP = thrift_parts.AgentPacket()
LIMIT = 65_000


def packed(*attributes: dict[str, Any]) -> list[Message]:
    """One span for each, packed for UDP."""
    spans = map(jaeger_span, made_spans(*attributes))
    return list(messages(thrift_parts.process("shop", ()), spans, UDP))


def read(packets: list[Message]) -> list[Any]:
    """All spans, in order."""
    return [span for packet in packets for span in read_packet(packet.data).spans]


def test_spans_share_a_packet_until_it_is_full() -> None:
    """Ten spans of 15,000 bytes need three packets, four to each and two to the last."""
    packets = packed(*({"text": "x" * 15_000} for _ in range(10)))

    assert [packet.spans for packet in packets] == [4, 4, 2]
    assert all(len(packet.data) < LIMIT for packet in packets)
    assert [span.operationName for span in read(packets)] == [str(place) for place in range(10)]
    assert not any(packet.trimmed for packet in packets)


@given(st.lists(st.integers(0, 70_000), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_no_packet_is_too_long_and_no_span_is_lost(sizes: list[int]) -> None:
    """Whatever their sizes, all spans arrive in order in packets under 65,000 bytes."""
    packets = packed(*({"text": "é" * (size // 2)} for size in sizes))

    assert all(len(packet.data) < LIMIT for packet in packets)
    assert [span.operationName for span in read(packets)] == [str(place) for place in range(len(sizes))]
    assert sum(packet.spans for packet in packets) == len(sizes)


def test_a_packet_is_filled_to_the_last_bytes() -> None:
    """A span of exactly the room there is goes whole; one byte more, and it is cut."""
    overhead = len(packed({"text": "x" * 60_000})[0].data) - 60_000
    whole = packed({"text": "x" * (LIMIT - overhead - 16)})
    longer = packed({"text": "x" * (LIMIT - overhead + 1)})

    assert [packet.trimmed for packet in (*whole, *longer)] == [0, 1]


def sized_span(text_bytes: int) -> thrift_parts.Span:
    """A span whose size depends on its text alone."""
    return thrift_parts.span(
        trace_id=1,
        span_id=2,
        parent_id=0,
        name="one",
        flags=1,
        start_ns=0,
        end_ns=0,
        references=(),
        tags=[thrift_parts.tag("text", "x" * text_bytes)],
        logs=(),
    )


def test_many_small_spans_fill_a_packet_and_not_more() -> None:
    """A long list has a longer header than an empty one, which counts when the last bytes are given away."""
    process, small = thrift_parts.process("shop", ()), [sized_span(200)] * 100
    taken = len(UDP.message(process, [UDP.encode(span) for span in small])) + len(UDP.encode(sized_span(200))) - 200

    for text_bytes in range(LIMIT - taken - 12, LIMIT - taken + 4):
        packets = list(messages(process, [*small, sized_span(text_bytes)], UDP))
        assert all(len(packet.data) < LIMIT for packet in packets)
        assert len(packets) == 1 or text_bytes > LIMIT - taken - 9


def test_the_longest_texts_are_cut_first() -> None:
    """They are cut to one length, with a mark and their true size; shorter ones stay, and the span says how many."""
    [packet] = packed({"prompt": "p" * 100_000, "answer": "a" * 60_000, "note": "n" * 5_000, "number": 7})

    tags = values(read_packet(packet.data).spans[0].tags)

    assert packet.trimmed == 1
    assert len(packet.data) > LIMIT - 1_000
    assert len(tags["prompt"].encode()) == len(tags["answer"].encode())
    assert tags["prompt"].endswith("p …[cut: 100000 bytes]")
    assert tags["answer"].endswith("a …[cut: 60000 bytes]")
    assert (tags["note"], tags["number"]) == ("n" * 5_000, 7)
    assert tags[names.EXPORT_TRIMMED] == 2


def test_only_as_many_values_are_cut_as_need_be() -> None:
    """Where one long value is the trouble, only that one is cut."""
    [packet] = packed({"prompt": "p" * 100_000, "answer": "a" * 10_000})

    tags = values(read_packet(packet.data).spans[0].tags)

    assert tags["answer"] == "a" * 10_000
    assert tags[names.EXPORT_TRIMMED] == 1


def test_a_cut_never_splits_a_character() -> None:
    """The bytes before the mark are whole characters."""
    [packet] = packed({"prompt": "🙂" * 40_000})

    text = values(read_packet(packet.data).spans[0].tags)["prompt"]

    assert set(text.split(" …")[0]) == {"🙂"}
    assert len(packet.data) < LIMIT


def test_fields_of_events_are_cut_too() -> None:
    """A long prompt can be on an event as well."""
    recorded = Recorded()
    span = recorded.tracer.start_span("one", attributes={"kept": "k" * 1_000})
    span.add_event("prompt", {"text": "t" * 200_000})
    span.end()

    [packet] = messages(thrift_parts.process("shop", ()), map(jaeger_span, recorded.spans), UDP)

    [arrived] = read_packet(packet.data).spans
    assert values(arrived.logs[0].fields)["text"].endswith("[cut: 200000 bytes]")
    assert values(arrived.tags)["kept"] == "k" * 1_000
    assert values(arrived.tags)[names.EXPORT_TRIMMED] == 1


def test_what_no_cut_can_shorten_is_left_out_from_the_end() -> None:
    """Small events go, the last ones first; the span, its tags and first events arrive, and the count tells."""
    recorded = Recorded()
    span = recorded.tracer.start_span("one", attributes={"kept": True})
    for place in range(128):
        span.add_event(f"event {place}", {f"field{field}": "v" * 200 for field in range(10)})
    span.end()

    [packet] = messages(thrift_parts.process("shop", ()), map(jaeger_span, recorded.spans), UDP)

    [arrived] = read_packet(packet.data).spans
    assert LIMIT - 5_000 < len(packet.data) < LIMIT
    assert [values(log.fields)["event"] for log in arrived.logs] == [f"event {i}" for i in range(len(arrived.logs))]
    assert values(arrived.tags)["kept"] is True
    assert values(arrived.tags)[names.EXPORT_TRIMMED] == 128 - len(arrived.logs)


def test_long_keys_and_names_do_not_lose_the_span() -> None:
    """A name is cut, a key that fits into no packet is left out with its value, and both are counted."""
    recorded = Recorded()
    recorded.tracer.start_span("n" * 80_000, attributes={"k" * 80_000: 1, "kept": True}).end()

    [packet] = messages(thrift_parts.process("shop", ()), map(jaeger_span, recorded.spans), UDP)

    [arrived] = read_packet(packet.data).spans
    assert arrived.operationName == "n" * 1_024
    assert values(arrived.tags)["kept"] is True
    assert values(arrived.tags)[names.EXPORT_TRIMMED] == 2


@pytest.mark.parametrize("resource", [{"one": "x" * 100_000}, {f"key{i}": "x" * 200 for i in range(500)}])
def test_a_huge_resource_leaves_room_for_spans(resource: dict[str, str]) -> None:
    """It is repeated in every packet, so it may have a quarter of one, and says what it lost."""
    process = thrift_parts.process("s" * 5_000, [thrift_parts.tag(key, value) for key, value in resource.items()])

    [packet] = messages(process, map(jaeger_span, made_spans({"text": "x" * 45_000})), UDP)

    batch = read_packet(packet.data)
    assert len(packet.data) < LIMIT
    assert packet.trimmed == 0
    assert values(batch.process.tags)[names.EXPORT_TRIMMED] > 0


def test_http_takes_whole_what_udp_cannot() -> None:
    """A request has room for four million bytes, so a long prompt is not cut."""
    spans = map(jaeger_span, made_spans({"prompt": "p" * 100_000}))

    [message] = messages(thrift_parts.process("shop", ()), spans, thrift_parts.CollectorRequest())

    assert values(read_body(message.data).spans[0].tags)["prompt"] == "p" * 100_000


def test_http_requests_are_bounded_as_well() -> None:
    """Ten spans of a million bytes take several requests."""
    spans = map(jaeger_span, made_spans(*({"prompt": "p" * 1_000_000} for _ in range(10))))

    sent = list(messages(thrift_parts.process("shop", ()), spans, thrift_parts.CollectorRequest()))

    assert [message.spans for message in sent] == [3, 3, 3, 1]
    assert all(len(message.data) <= 4_000_000 for message in sent)
