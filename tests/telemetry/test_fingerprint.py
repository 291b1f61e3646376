"""Fingerprints keep values comparable under one key, and say nothing about them under another."""

import hashlib
import hmac
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.telemetry.fingerprint import Fingerprints, digest, shape

from ..processor_time import LINEAR, growth


@given(st.lists(st.text(st.characters(exclude_categories=()))), st.lists(st.text(st.characters(exclude_categories=()))))
def test_equal_parts_and_only_they_have_equal_fingerprints(one: list[str], other: list[str]) -> None:
    """The borders of the parts count, and surrogates do not crash."""
    prints = Fingerprints(b"key")
    assert (prints.of(*one) == prints.of(*other)) == (one == other)


def test_another_key_gives_another_fingerprint() -> None:
    """Nobody can look a value up in a table; without a key each object has its own."""
    values = {f.of("a") for f in (Fingerprints(b"1"), Fingerprints(b"2"), Fingerprints(), Fingerprints())}
    assert len(values) == 4


def test_a_fingerprint_can_be_recomputed_by_whoever_has_the_key() -> None:
    """With any tool that knows HMAC-SHA256: each part after its length in bytes, the first eight bytes in hex."""
    said = hmac.new(b"key", "6:result3:\u00e9a".encode(), hashlib.sha256).hexdigest()[:16]
    assert Fingerprints(b"key").of("result", "\u00e9a") == said


def test_the_key_id_tells_whether_fingerprints_compare_and_is_not_the_key() -> None:
    """Equal keys, equal ids."""
    one, same, other = (Fingerprints(key) for key in (b"k" * 32, b"k" * 32, b"l" * 32))
    assert (one.key_id == same.key_id, one.key_id == other.key_id) == (True, False)
    assert (b"k" * 8).hex() not in one.key_id


def test_the_tool_is_part_of_a_call_and_the_spelling_is_not() -> None:
    """Order of fields and spaces do not count; what is no argument never equals a call."""
    prints = Fingerprints(b"key")
    call = prints.of_arguments("pay", {"a": 1, "b": 2})
    assert call == prints.of_arguments("pay", {"b": 2, "a": 1})
    assert call not in {prints.of_arguments("read", {"a": 1, "b": 2}), prints.of("pay", '{"a":1,"b":2}')}


def test_a_large_value_takes_time_in_proportion() -> None:
    """And not with the square of its fields."""
    prints = Fingerprints(b"key")
    assert (
        growth(lambda size: partial(prints.of_arguments, "t", {f"k{n}": "x" * 90 for n in range(size)}), 1_000) < LINEAR
    )


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
