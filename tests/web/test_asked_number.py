"""Numbers in addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.asked_number import MOST_DIGITS, asked_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("17", 17), ("007", 7), ("9" * MOST_DIGITS, 999_999_999)])
def test_a_whole_number_is_read(text: str, number: int) -> None:
    """From 0 on."""
    assert asked_number(text) == number


@pytest.mark.parametrize("text", ["", " 1", "-1", "+1", "1.0", "1_0", "१", "²", "9" * (MOST_DIGITS + 1), "x"])
def test_what_is_no_plain_number_is_none(text: str) -> None:
    """Digits of other scripts are none either: the page never writes them."""
    assert asked_number(text) is None


@given(st.text())
def test_any_text_is_a_small_number_or_none(text: str) -> None:
    """However odd it is."""
    found = asked_number(text)
    assert found is None or 0 <= found < 10**MOST_DIGITS
