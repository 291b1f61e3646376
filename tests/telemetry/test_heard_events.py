"""Events of others take what room attributes leave, and no more."""

from traced_loop import names
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.heard_events import heard_events
from traced_loop.telemetry.span_attributes import MAX_SPAN_BYTES, VITAL_BYTES, SpanAttributes
from traced_loop.telemetry.span_record import SpanEvent


def test_events_that_do_not_fit_are_left_out_and_counted() -> None:
    """Room for what a trace is read by stays free; a smaller one behind them may fit."""
    hygiene = Hygiene()
    attributes = SpanAttributes({names.RUN_ID: "r"}, hygiene)
    large = [SpanEvent(number, "large", {"a.text": "x" * 3_900}) for number in range(1, 9)]

    kept = heard_events([*large, SpanEvent(9, "small", {})], hygiene, attributes)

    assert [event.time_ns for event in kept] == [1, 2, 3, 4, 5, 6, 9]
    assert hygiene.truncated == 2
    assert VITAL_BYTES <= attributes.room() < MAX_SPAN_BYTES - 6 * 3_900


class Lazy:
    """Stands for something that can be looked at in its own place only."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("outside of its request")


def test_an_event_that_cannot_be_looked_at_is_left_out_and_counted() -> None:
    """The others are kept."""
    hygiene = Hygiene()
    events = [SpanEvent(1, "odd", {"app.value": Lazy()}), SpanEvent(2, "sound", {"app.value": 1})]

    kept = heard_events(events, hygiene, SpanAttributes({}, hygiene))

    assert ([event.name for event in kept], hygiene.truncated) == (["sound"], 1)


def test_an_event_is_cleaned_as_a_span_is() -> None:
    """Secrets, surrogates, and numbers that are none."""
    key = "sk-" + "proj-" + "4f9a1c7e2b8d6035" * 3
    given = SpanEvent(1, f"\ud800 {key}", {"a.key": key, "a.odd": float("nan"), "a.text": "\udfff"})

    [event] = heard_events([given], Hygiene(), SpanAttributes({}, Hygiene()))

    assert key not in str(event)
    assert (event.name[0], dict(event.attributes).keys(), event.attributes["a.text"]) == (
        "\ufffd",
        {"a.key", "a.text"},
        "\ufffd",
    )
