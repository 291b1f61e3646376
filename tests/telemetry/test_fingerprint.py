"""Fingerprints keep values comparable under one key, and say nothing about them under another."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.telemetry.fingerprint import Fingerprints, canonical, digest, shape

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(st.text(st.characters(exclude_categories=()))), st.lists(st.text(st.characters(exclude_categories=()))))
def test_equal_parts_and_only_they_have_equal_fingerprints(one: list[str], other: list[str]) -> None:
    """The borders of the parts count, and surrogates do not crash."""
    prints = Fingerprints(b"key")
    assert (prints.of(*one) == prints.of(*other)) == (one == other)


def test_another_key_gives_another_fingerprint() -> None:
    """Nobody can look a value up in a table; without a key each object has its own."""
    values = {f.of("a") for f in (Fingerprints(b"1"), Fingerprints(b"2"), Fingerprints(), Fingerprints())}
    assert len(values) == 4


@given(json_values)
def test_all_texts_of_one_value_have_one_canonical_form(value: Any) -> None:
    """Order of keys and spaces do not count."""
    spaced = json.dumps(value, indent=3)
    assert canonical(json.loads(spaced)) == canonical(value)


def test_order_of_fields_does_not_count_and_types_do() -> None:
    """``1``, ``1.0``, ``true`` and ``"1"`` are four values."""
    assert canonical({"b": 1, "a": 2}) == '{"a":2,"b":1}'
    assert len({canonical(value) for value in (1, 1.0, True, "1")}) == 4


def test_a_digest_is_the_same_everywhere() -> None:
    """Set-ups are compared across stores and machines."""
    assert digest("You are helpful.") == "b4b89d0d5d74fdb5"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"name": "Ann", "age": 3}, "object[2:int|str]"),
        ({}, "object[0]"),
        ([1, 2], "list[2]"),
        (None, "null"),
        (True, "bool"),
        ("secret", "str"),
        ({"a": {"b": {"c": {"d": 1}}}}, "object[1:object[1:object[1:object[1]]]]"),
        ({str(n): kind for n, kind in enumerate([1, "a", None, 1.5, [], {}])}, "object[6:float|int|list[0]|null]"),
    ],
)
def test_a_shape_tells_kinds_and_sizes_only(value: object, said: str) -> None:
    """Neither keys nor values of a result are in it."""
    assert shape(value) == said
