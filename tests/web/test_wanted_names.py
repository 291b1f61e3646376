"""Which names somebody means by a name, or by one with stars in it."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.wanted_names import wanted_names

from ..processor_time import LINEAR, growth

NAMES = ("gpt-5", "gpt-5-mini", "GPT-4", "a*b", "a\u202eb", "")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("gpt-5", {"gpt-5"}),
        ("GPT-5", {"gpt-5"}),
        ("gpt*", {"gpt-5", "gpt-5-mini", "GPT-4"}),
        ("*mini", {"gpt-5-mini"}),
        ("*5*", {"gpt-5", "gpt-5-mini"}),
        ("g*5*i", {"gpt-5-mini"}),
        ("gpt-5*5", set()),
        ("a*b", {"a*b", "a\u202eb"}),
        (r"a\u202eb", {"a\u202eb"}),
        ("*", set(NAMES)),
        (".*", set()),
    ],
)
def test_a_name_is_whole_and_a_star_is_anything(pattern: str, found: set[str]) -> None:
    """A name with characters that are not shown is meant by how the page shows it."""
    assert wanted_names(pattern, NAMES) == found


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_it_is_what_the_same_pattern_is_as_a_regular_expression(pattern: str, name: str) -> None:
    """With each star for any characters."""
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert (name in wanted_names(pattern, [name])) == (re.fullmatch(expression, name) is not None)


def test_many_stars_take_no_longer() -> None:
    """A pattern of somebody else's address must not hold the page."""
    pattern = "*a" * 99 + "b"
    assert wanted_names(pattern, ["a" * 10_000]) == frozenset()
    assert growth(lambda size: partial(wanted_names, pattern, ["a" * size]), 10_000) < LINEAR
