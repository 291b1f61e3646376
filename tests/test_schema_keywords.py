"""Values of JSON that are equal have one key, and others have others."""

from typing import Any

import pytest

from traced_loop.schema_judge import SchemaJudge
from traced_loop.schema_keywords import same_key


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        ([1, 2], [1.0, 2], True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ([], {}, False),
        (None, False, False),
        (["[", 1], [["["], 1], False),
    ],
)
def test_equal_values_have_one_key(one: Any, other: Any, equal: bool) -> None:
    """Numbers by value, objects in any order, truth apart from numbers."""
    assert (same_key(one) == same_key(other)) is equal


@pytest.mark.parametrize(
    ("value", "of", "fits"),
    [(0.3, 0.1, True), (0.35, 0.1, False), (7, 2, False), (1e308, 1, True), (4.5, 1.5, True), (1e-7, 1e-8, True)],
)
def test_a_multiple_is_one_as_it_is_written(value: float, of: float, fits: bool) -> None:
    """Three times 0.1 is 0.3, whatever binary fractions make of it."""
    assert (list(SchemaJudge({"multipleOf": of}).failures(value)) == []) is fits
