"""What others said that happened in a span of ours: cleaned as attributes are, and kept where there is room."""

from collections.abc import Sequence
from typing import Final

from traced_loop.telemetry.attributes import Hygiene, clean, clean_name
from traced_loop.telemetry.span_attributes import SpanAttributes, attributes_bytes, utf8_bytes
from traced_loop.telemetry.span_record import SpanEvent

EVENT_BYTES: Final = 32
"""Tags, lengths and time of one event."""


def heard_events(events: Sequence[SpanEvent], hygiene: Hygiene, attributes: SpanAttributes) -> tuple[SpanEvent, ...]:
    """Those that fit, in order, masked; the others are counted as what gave way.

    Args:
        events: not yet cleaned.
        hygiene: cleans them.
        attributes: of their span, which events take room from.
    """
    kept: list[SpanEvent] = []
    for event in events:
        try:
            name, cleaned = clean_name(hygiene.masked(event.name)), clean(event.attributes, hygiene)
        except Exception:  # noqa: BLE001 - a value that is not ours may raise as soon as it is looked at
            hygiene.truncated += 1
            continue
        if attributes.widen(EVENT_BYTES + utf8_bytes(name) + attributes_bytes(cleaned)):
            kept.append(SpanEvent(event.time_ns, name, cleaned))
        else:
            hygiene.truncated += 1
    return tuple(kept)
