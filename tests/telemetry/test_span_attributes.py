"""A span stays within its bounds, whatever arrives and when; what a trace is read by is never the victim."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import names
from traced_loop.telemetry.attributes import MAX_VALUE_BYTES, Hygiene, clean_name
from traced_loop.telemetry.span_attributes import (
    MAX_ATTRIBUTES,
    MAX_LINKS,
    MAX_SPAN_BYTES,
    START_ATTRIBUTES,
    VITAL,
    SpanAttributes,
    attributes_bytes,
    frame_bytes,
    level,
)
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import Spans

from ..nightly import examples

LARGE = "x" * MAX_VALUE_BYTES

CHARACTERS = ["x", "ä", "\U0001f600", "\ud83e", "\x00", "\u202e", "\x1b[2J", " word"]
chances = st.integers(0, 2**32).map(Random)
"""A seed each: attributes of hundreds of kilobytes are made from it, not shrunk."""


def some_text(chance: Random) -> str:
    """Short, long or very long, of any characters."""
    return "".join(chance.choices(CHARACTERS, k=3)) * chance.choice([0, 1, 1, 10, 100, 1000, 2000])


def some_value(chance: Random) -> Any:
    """Of any type that is given."""
    text = some_text(chance)
    kinds = [text, text, chance.getrandbits(40), 10**40, math.nan, 0.5, True, None, [text] * 3, [text[:4]] * 70]
    return chance.choice(kinds)


def arriving(chance: Random) -> dict[str, Any]:
    """What is set at once: up to eighty attributes, and some of the vital ones."""
    keys = [*(f"key{n}" for n in range(80)), *names.CONTENT_KEYS, "k" * 500, "\ud83e", "", "ä" * 90]
    ordinary = {key: some_value(chance) for key in chance.sample(keys, chance.randrange(len(keys)))}
    vital = {key: some_text(chance) for key in chance.sample(sorted(VITAL), chance.randrange(len(VITAL)))}
    return {**ordinary, **vital} if chance.random() < 0.5 else {**vital, **ordinary}


def arrivals(chance: Random) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """At the start, and later."""
    return arriving(chance), [arriving(chance) for _ in range(chance.randint(1, 4))]


def exported(name: str, start: dict[str, Any], late: list[dict[str, Any]], links: int) -> tuple[Any, Any, int]:
    """The span that a tracer got, the one that the store got, and the bytes of its message."""
    exporter, spans = InMemorySpanExporter(), Spans()
    limits = SpanLimits(max_span_attributes=SpanLimits.UNSET, max_links=SpanLimits.UNSET)
    provider = TracerProvider(shutdown_on_exit=False, span_limits=limits)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(tracer=provider.get_tracer("test"), sink=spans)
    linked = [(number + 1, number + 1) for number in range(links)]
    with telemetry.run(telemetry.scope("run-1"), "run", {}), telemetry.span(name, start, links=linked) as span:
        for attributes in late[:-1]:
            span.set(attributes)
        span.fail("E\ud83e" * 400, "\ud83e" * 100_000)
        span.hold()
    span.release(late[-1])
    sent = exporter.get_finished_spans()[-1]
    [message] = encode_spans([sent]).resource_spans[0].scope_spans[0].spans
    return sent, spans.ended_spans[-1], message.ByteSize()


@settings(max_examples=examples(100))
@given(chances)
def test_a_span_never_exceeds_its_bounds(chance: Random) -> None:
    """Encoded by the real encoder, and as it is counted; the tracer and the store have the same."""
    start, late = arrivals(chance)
    links = chance.randrange(40)
    sent, stored, size = exported(some_text(chance), start, late, links)

    counted = frame_bytes(stored.name, len(stored.links)) + attributes_bytes(stored.attributes)
    assert size <= counted <= MAX_SPAN_BYTES
    assert len(stored.attributes) <= MAX_ATTRIBUTES
    assert len(stored.links) == len(sent.links) == min(links, MAX_LINKS)
    assert dict(sent.attributes) == stored.attributes


@settings(max_examples=examples(100))
@given(chances)
def test_what_a_trace_is_read_by_is_always_there(chance: Random) -> None:
    """Each vital key that was ever set is on the span, however full it was."""
    start, late = arrivals(chance)
    attributes = SpanAttributes(start, Hygiene())
    for given_late in late:
        attributes.set(given_late)

    assert {key for given_once in (start, *late) for key in given_once if key in VITAL} <= attributes.known.keys()


@settings(max_examples=examples(100))
@given(chances)
def test_what_was_known_at_the_start_is_not_evicted_by_what_comes_later(chance: Random) -> None:
    """It has its first value unless that was set anew; vital texts are shortened where they alone are too large."""
    start, late = arrivals(chance)
    attributes = SpanAttributes(start, Hygiene())
    begun = dict(attributes.known)
    for given_late in late:
        attributes.set(given_late)

    changed = {clean_name(key) for given_late in late for key in given_late}
    for key, value in begun.items():
        assert key in attributes.known
        if key not in VITAL and key not in changed and key.removeprefix(names.TRUNCATED_PREFIX) not in changed:
            marks_a_vital_one = key.removeprefix(names.TRUNCATED_PREFIX) in VITAL
            assert attributes.known[key] == value or marks_a_vital_one


@pytest.mark.parametrize("character", ["x", "ä", "\U0001f600", "\ud83e", "\x00"])
def test_the_largest_texts_are_shortened_with_their_true_size_beside_them(character: str) -> None:
    """Ten large ones fit no more; small ones stay whole, and the receipt counts those that were cut."""
    hygiene = Hygiene()
    large = {f"large{n}": character * 3_000 for n in range(12)}
    attributes = SpanAttributes({"small": "word", **large, "number": 7, names.CALL_OUTCOME: "ok"}, hygiene)

    known = attributes.known
    assert (known["small"], known["number"], known[names.CALL_OUTCOME]) == ("word", 7, "ok")
    sizes = {len(known[key].encode()) for key in large}
    assert max(sizes) - min(sizes) <= 3
    assert {known[f"{names.TRUNCATED_PREFIX}{key}"] for key in large} == {
        len((character * 3_000).encode(errors="replace"))
    } or (character == "\ud83e")
    assert hygiene.truncated == 12


def test_a_late_text_makes_do_with_what_is_left() -> None:
    """What came first is not touched."""
    attributes = SpanAttributes({f"first{n}": LARGE for n in range(6)}, Hygiene())
    attributes.set({"late": LARGE, "short": "word"})

    known = attributes.known
    assert {len(known[f"first{n}"]) for n in range(6)} == {MAX_VALUE_BYTES}
    assert 256 <= len(known["late"]) < MAX_VALUE_BYTES
    assert (known[f"{names.TRUNCATED_PREFIX}late"], known["short"]) == (MAX_VALUE_BYTES, "word")


@pytest.mark.parametrize("key", sorted(names.CONTENT_KEYS))
def test_a_json_value_is_whole_or_left_out(key: str) -> None:
    """Cut it would be no JSON; its size is told all the same, and a plain text beside it gives way first."""
    hygiene = Hygiene()
    attributes = SpanAttributes({f"first{n}": LARGE for n in range(5)}, hygiene)
    attributes.set({key: "[" + "1," * 1_000 + "1]", "text": LARGE})
    assert attributes.known[key].endswith("1]")
    assert attributes.known[f"{names.TRUNCATED_PREFIX}text"] == MAX_VALUE_BYTES

    other = next(iter(names.CONTENT_KEYS - {key}))
    attributes.set({other: "[" + "1," * 2_000 + "1]"})
    assert other not in attributes.known
    assert attributes.known[f"{names.TRUNCATED_PREFIX}{other}"] == 4_003
    assert hygiene.truncated == 2


def test_late_attributes_make_place_for_vital_ones() -> None:
    """The last ones first; what was known at the start stays."""
    hygiene = Hygiene()
    attributes = SpanAttributes({f"start{n}": n for n in range(50)}, hygiene)
    assert (len(attributes.known), hygiene.truncated) == (START_ATTRIBUTES, 50 - START_ATTRIBUTES)

    attributes.set({f"late{n}": n for n in range(MAX_ATTRIBUTES)})
    attributes.set({names.RUN_STOP_REASON: "refused", names.CALL_OUTCOME: "ok"})

    known = list(attributes.known)
    assert known[:START_ATTRIBUTES] == [f"start{n}" for n in range(START_ATTRIBUTES)]
    assert known[START_ATTRIBUTES:-2] == [f"late{n}" for n in range(MAX_ATTRIBUTES - START_ATTRIBUTES - 2)]
    assert known[-2:] == [names.RUN_STOP_REASON, names.CALL_OUTCOME]
    assert set(attributes.late) == set(known[START_ATTRIBUTES:])


def test_vital_texts_are_shortened_only_where_they_alone_are_too_large() -> None:
    """A provider's id of four kilobytes stays whole on a usual span; a dozen of them do not."""
    attributes = SpanAttributes({names.GEN_AI_RESPONSE_ID: LARGE}, Hygiene())
    assert attributes.known[names.GEN_AI_RESPONSE_ID] == LARGE

    attributes.set({f"text{n}": LARGE for n in range(10)})
    attributes.set(dict.fromkeys([names.CALL_ID, names.SESSION_ID, names.EXECUTION_ID], LARGE))
    known = attributes.known
    assert frame_bytes("", 0) + attributes_bytes(known) <= MAX_SPAN_BYTES
    assert all(len(known[key]) >= 256 for key in (names.CALL_ID, names.SESSION_ID, names.EXECUTION_ID))


def test_links_beyond_the_bound_are_left_out_and_counted() -> None:
    """The first ones stay."""
    spans = Spans()
    telemetry = Telemetry(sink=spans)
    scope = telemetry.scope("r")
    with telemetry.run(scope, "run", {}), telemetry.span("b", {}, links=[(1, n + 1) for n in range(100)]):
        pass
    assert spans.ended_spans[0].links == tuple((1, n + 1) for n in range(MAX_LINKS))
    assert scope.hygiene.truncated == 100 - MAX_LINKS


@pytest.mark.parametrize(
    ("sizes", "excess", "length"),
    [([10, 5, 1], 3, 7), ([10, 5, 1], 7, 4), ([10, 10], 1, 9), ([4], 9, 0), ([], 5, 0)],
)
def test_the_level_takes_from_the_longest_first(sizes: list[int], excess: int, length: int) -> None:
    """Down to one length, at least as much as is asked for where there is so much."""
    assert level(sizes, excess) == length
