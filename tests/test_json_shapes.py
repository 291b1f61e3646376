"""A value of another shape than hoped for is None, not a crash."""

from types import MappingProxyType
from typing import Any

import pytest

from traced_loop.json_shapes import as_list, as_object, as_text, deeper_than


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, ({}, None, None)),
        ({"a": 1}, ({"a": 1}, None, None)),
        ([], (None, [], None)),
        ((1,), (None, None, None)),
        ("", (None, None, None)),
        ("a", (None, None, "a")),
        (None, (None, None, None)),
        (1, (None, None, None)),
    ],
)
def test_a_value_is_one_shape_at_most(value: Any, found: tuple[Any, Any, Any]) -> None:
    """Empty text counts as none."""
    assert (as_object(value), as_list(value), as_text(value)) == found


def test_any_mapping_is_an_object() -> None:
    """As it is, without a copy."""
    value = MappingProxyType({"a": 1})
    assert as_object(value) is value


@pytest.mark.parametrize(("depth", "limit", "deeper"), [(1, 1, False), (2, 1, True), (64, 64, False), (65, 64, True)])
def test_depth_counts_containers(depth: int, limit: int, deeper: bool) -> None:
    """Lists and objects alike."""
    value: Any = 7
    for number in range(depth):
        value = [value] if number % 2 else {"a": value, "b": 1}
    assert deeper_than(value, limit) is deeper


def test_depth_cannot_exhaust_the_stack() -> None:
    """However deep."""
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert deeper_than(value, 64)
    while value:  # taking it apart level by level spares the interpreter a deep deallocation
        value = value[0]
