"""The events of a stream, whatever the packets that they come in."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.models.server_events import MAX_EVENT_BYTES, EventTooLong, ServerEvent, ServerEvents

from ..processor_time import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Callable

line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
lines = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), max_size=12)
events = st.tuples(st.sampled_from(["", "error", "message"]), st.lists(lines, min_size=1, max_size=3))


def read(*packets: bytes) -> list[ServerEvent]:
    """All events, the one that nothing ended last."""
    found, reader = [], ServerEvents()
    for packet in packets:
        found += reader.take(packet)
    last = reader.rest()
    return [*found, last] if last is not None else found


@given(st.lists(events, max_size=5), line_ends, st.data())
def test_packets_may_end_anywhere(said: list[tuple[str, list[str]]], end: bytes, data: st.DataObject) -> None:
    """In the middle of a character, between CR and LF, in a field's name: the events are the same."""
    noise = data.draw(st.sampled_from([b"", b": a comment" + end, b"id: 7" + end, b"retry" + end]))
    stream = b"".join(
        (b"event: " + name.encode() + end if name else b"")
        + b"".join(b"data: " + line.encode() + end for line in lines)
        + noise
        + end
        for name, lines in said
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    packets = [stream[a:b] for a, b in pairwise([0, *cuts, len(stream)])]

    assert read(*packets) == [ServerEvent(name, "\n".join(lines).encode()) for name, lines in said]


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_any_bytes_are_events_or_none(packets: list[bytes]) -> None:
    """Never a crash, and the same as in one packet."""
    assert read(*packets) == read(b"".join(packets))


def test_one_byte_at_a_time() -> None:
    """The slowest server there is."""
    stream = b"\xef\xbb\xbfdata:{}\r\n\r\ndata: a\r\ndata: b\r\n\r\ndata: left"

    assert read(*[bytes([byte]) for byte in stream]) == [
        ServerEvent("", b"{}"),
        ServerEvent("", b"a\nb"),
        ServerEvent("", b"left"),
    ]


@pytest.mark.parametrize(
    ("first", "packet"),
    [
        (b"data: ", b"x" * 65_536),
        (b"", b"data: " + b"x" * 65_529 + b"\n"),
        (b"", b"x" * 65_536),
        (b"", b"data:\n" * 10_922),
    ],
    ids=["one_line", "many_lines", "no_field", "empty_lines"],
)
def test_an_event_that_never_ends_is_refused(first: bytes, packet: bytes) -> None:
    """At the bound, not when the memory is full."""
    reader, fed = ServerEvents(), [first]

    def feed() -> None:
        for _ in range(2 * MAX_EVENT_BYTES // len(packet)):
            fed.append(packet)
            list(reader.take(packet))

    list(reader.take(first))
    with pytest.raises(EventTooLong):
        feed()
    assert sum(map(len, fed)) <= MAX_EVENT_BYTES + 1024 * 1024


def read_whole(packets: list[bytes], length: int) -> None:
    """One event whose data has this length."""
    reader = ServerEvents()
    assert [len(event.data) for packet in packets for event in reader.take(packet)] == [length]


def test_a_long_line_in_small_packets_costs_its_length() -> None:
    """8 MB in packets of 64 bytes: no packet is looked at again when the next one comes."""

    def prepare(size: int) -> Callable[[], None]:
        packets = [b"data: ", *[b"x" * 64] * size, b"\n\n"]
        return lambda: read_whole(packets, size * 64)

    assert growth(prepare, 8_192) < LINEAR


def test_an_event_of_many_lines_in_small_packets_costs_its_length() -> None:
    """A hundred thousand lines, one a packet: none is counted again when the next one comes."""

    def prepare(size: int) -> Callable[[], None]:
        packets = [*[b"data: x\n"] * size, b"\n"]
        return lambda: read_whole(packets, 2 * size - 1)

    assert growth(prepare, 6_250) < LINEAR
