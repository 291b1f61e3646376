"""Times, costs and counts for people."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from traced_loop.amount_text import (
    cost_text,
    count_text,
    counted,
    iso_text,
    least_text,
    seconds_text,
    time_text,
    tokens_text,
)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "unknown"),
        (float("nan"), "unknown"),
        (-1.0, "unknown"),
        (0.0, "0 s"),
        (0.0004, "<1 ms"),
        (0.012, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (3.4, "3.4 s"),
        (10.0, "10 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (125.0, "2 min 5 s"),
        (3599.7, "1 h"),
        (7384.0, "2 h 3 min"),
    ],
)
def test_a_duration_has_the_unit_that_people_would_use(seconds: float | None, expected: str) -> None:
    """Rounding never gives 1000 ms or 60 s."""
    assert seconds_text(seconds) == expected


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (None, "unknown"),
        (Decimal("NaN"), "unknown"),
        (Decimal(0), "$0"),
        (Decimal("0.0000001"), "<$0.000001"),
        (Decimal("0.000012"), "$0.000012"),
        (Decimal("0.0012"), "$0.0012"),
        (Decimal("1234.5"), "$1,234.50"),
    ],
)
def test_a_small_cost_keeps_its_digits(cost: Decimal | None, expected: str) -> None:
    """Unknown is never zero."""
    assert cost_text(cost) == expected


def test_counts_have_thousands_and_nouns_agree() -> None:
    """Whole numbers have no fraction."""
    assert [count_text(n) for n in (None, 0, 1204, 8.0, 0.25)] == ["unknown", "0", "1,204", "8", "0.25"]
    assert [counted(n, "step") for n in (None, 0, 1, 2)] == ["unknown steps", "0 steps", "1 step", "2 steps"]


def test_a_least_time_says_so() -> None:
    """Less than a millisecond is no time to tell of a run that may have gone on for hours."""
    assert [least_text(seconds) for seconds in (3.0, 0.001, 0.0004, None)] == [
        "at least 3 s",
        "at least 1 ms",
        "unknown",
        "unknown",
    ]


def test_tokens_of_which_nobody_told_the_count_are_no_zero() -> None:
    """Requests without any tokens were not answered; without requests there is nothing that could be unknown."""
    assert [tokens_text(n, requests=1) for n in (None, 0, 1, 1_284)] == [
        "unknown tokens",
        "unknown tokens",
        "1 token",
        "1,284 tokens",
    ]
    assert tokens_text(0, requests=0) == "0 tokens"


def test_tokens_that_are_an_estimate_are_said_to_be_one() -> None:
    """A count that is our own is never shown as the provider's."""
    assert tokens_text(425, requests=1, estimated=True) == "about 425 tokens (estimated)"
    assert tokens_text(0, requests=1, estimated=True) == "unknown tokens"


def test_times_are_in_utc() -> None:
    """For people and for programs."""
    time = datetime(2026, 11, 29, 22, 46, 1, 5, tzinfo=UTC)

    assert (time_text(time), iso_text(time)) == ("2026-11-29 22:46:01 UTC", "2026-11-29T22:46:01.000005Z")
    assert (time_text(None), iso_text(None)) == ("unknown", None)
