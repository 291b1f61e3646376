"""What of a run's content may leave with its telemetry."""

import logging
from typing import Any

import pytest

from traced_loop import ContentCapture, UsageError
from traced_loop.telemetry.content.capture import OFF, VARIABLE, content_in, content_of


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (None, "none"),
        ("", "none"),
        ("NO_CONTENT", "none"),
        ("SPAN_ONLY", "span"),
        (" span_only ", "span"),
        ("EVENT_ONLY", "event"),
        ("Span_And_Event", "both"),
    ],
)
def test_the_official_variable_means_what_it_means_elsewhere(
    value: str | None, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its four values, however they are written; nothing else is said."""
    assert content_in({} if value is None else {VARIABLE: value}).where == where
    assert caplog.records == []


@pytest.mark.parametrize("value", ["true", "1", "span", "SPAN_ONLY,EVENT_ONLY"])
def test_a_value_that_is_none_captures_nothing_and_says_so_once(value: str, caplog: pytest.LogCaptureFixture) -> None:
    """Also ``true``, which older instrumentations took."""
    with caplog.at_level(logging.WARNING, "traced_loop"):
        assert [content_in({VARIABLE: value}), content_in({VARIABLE: value})] == [OFF, OFF]
    (record,) = caplog.records
    assert (record.name, VARIABLE in record.message, value in record.message) == ("traced_loop", True, True)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, None),
        ("none", OFF),
        ("span", ContentCapture()),
        ("event", ContentCapture(where="event")),
        ("both", ContentCapture(where="both")),
        ("full", ContentCapture(where="span", history="full")),
        (ContentCapture(max_bytes=2_000, redact=False), ContentCapture(max_bytes=2_000, redact=False)),
    ],
)
def test_a_word_or_a_value_says_it_in_code(given: Any, meant: ContentCapture | None) -> None:
    """None leaves the question open."""
    assert content_of(given, of="Loop") == meant


@pytest.mark.parametrize("given", [True, False, "spans", "SPAN_ONLY", ["span"], 1])
def test_what_is_no_choice_is_refused_with_the_choices(given: Any) -> None:
    """``True`` does not say where to."""
    with pytest.raises(UsageError, match="'none' or 'span' or 'event' or 'both' or 'full'"):
        content_of(given, of="Loop")


@pytest.mark.parametrize(
    "options",
    [
        {"where": "spans"},
        {"history": "all"},
        {"redact": "no"},
        {"definitions": 2},
        {"max_bytes": 100},
        {"max_bytes": 30_000},
    ],
)
def test_a_capture_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    """Where it is made, by the name of what is wrong."""
    with pytest.raises(UsageError, match=next(iter(options))):
        ContentCapture(**options)
