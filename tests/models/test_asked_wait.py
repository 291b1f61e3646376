"""The wait that a server asks for, in whichever of its forms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.models.asked_wait import asked_wait, duration

from .test_error_body import JSON

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DATE = "Mon, 30 Nov 2026 12:00:00 GMT"

DURATIONS: dict[str, float | None] = {
    "1m2.5s": 62.5,
    "20ms": 0.02,
    "6m0s": 360.0,
    "1h1m1s": 3_661.0,
    "34s": 34.0,
    "1d": 86_400.0,
    "250us": 0.00025,
    "7": 7.0,
    "0": 0.0,
    str(int(NOW.timestamp()) + 30): 30.0,
    str((int(NOW.timestamp()) + 30) * 1000): 30.0,
    str(int(NOW.timestamp()) - 30): 0.0,
    "2026-11-30T12:00:05Z": 5.0,
    "2026-11-30T12:00:05": 5.0,
    "Mon, 30 Nov 2026 12:01:00 GMT": 60.0,
    "0001-01-01T00:00:00+23:59": 0.0,
    "-5": None,
    "nan": None,
    "inf": None,
    "soon": None,
    "5 s": None,
    "": None,
}


@pytest.mark.parametrize(("text", "seconds"), DURATIONS.items(), ids=list(DURATIONS))
def test_a_duration_is_read_in_each_form(text: str, seconds: float | None) -> None:
    """Nonsense is no wait."""
    found = duration(text, NOW)
    assert found == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


ASKED: dict[str, tuple[dict[str, str], Any, float | None]] = {
    "retry-after-first": ({"Retry-After": "3", "x-ratelimit-reset-tokens": "9s"}, {}, 3.0),
    "tokens-used-up": (
        {
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "6s",
            "x-ratelimit-remaining-requests": "10",
            "x-ratelimit-reset-requests": "2m",
        },
        {},
        6.0,
    ),
    "requests-used-up": (
        {
            "x-ratelimit-remaining-tokens": "100",
            "x-ratelimit-reset-tokens": "6s",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "2m",
        },
        {},
        120.0,
    ),
    "both-used-up": (
        {
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "6s",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "1s",
        },
        {},
        6.0,
    ),
    "neither-said": ({"x-ratelimit-reset-tokens": "6s", "x-ratelimit-reset-requests": "2m"}, {}, 6.0),
    "only-requests": ({"X-RateLimit-Reset-Requests": "20ms"}, {}, 0.02),
    "one-limit": ({"X-RateLimit-Reset": "12"}, {}, 12.0),
    "google": ({}, [{"error": {"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "34s"}]}}], 34.0),
    "openrouter": (
        {"Date": DATE},
        {"error": {"metadata": {"headers": {"X-RateLimit-Reset": str((int(NOW.timestamp()) + 8) * 1000)}}}},
        8.0,
    ),
    "nothing": ({}, {}, None),
}


@pytest.mark.parametrize(("headers", "body", "seconds"), ASKED.values(), ids=ASKED)
def test_the_limit_that_is_used_up_says_when_to_come_back(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    """``Retry-After`` goes first; of two limits the later one that is used up counts."""
    found = asked_wait(headers, body, limited=True)
    assert found == (None if seconds is None else pytest.approx(seconds, abs=0.01))


def test_where_no_limit_was_hit_the_limits_say_nothing() -> None:
    """Servers send their state with every response."""
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6s"}
    assert asked_wait(headers, {}, limited=False) is None
    assert asked_wait({**headers, "retry-after": "2"}, {}, limited=False) == 2.0


HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "Retry-After",
            "retry-after-ms",
            "Date",
            "x-ratelimit-reset",
            "x-ratelimit-reset-tokens",
            "x-ratelimit-reset-requests",
        ]
    ),
    st.text(max_size=30) | st.floats().map(str) | st.integers().map(str) | st.datetimes().map(str),
)


@given(HEADERS, JSON, st.booleans())
def test_no_header_and_no_body_is_a_crash(headers: dict[str, str], body: Any, limited: bool) -> None:
    """And no wait is negative or without end."""
    found = asked_wait(headers, body, limited=limited)
    assert found is None or 0 <= found < float("inf")
