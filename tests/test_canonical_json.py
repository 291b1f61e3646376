"""Equal JSON values have one canonical text, different ones have two."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.canonical_json import canonical
from traced_loop.telemetry.fingerprint import Fingerprints

PRINTS = Fingerprints(b"key")
texts = st.text(st.characters(exclude_categories=()))  # unpaired surrogates included
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


def strict(value: Any) -> Any:
    """The value with its kinds, for a comparison in which ``1``, ``1.0`` and ``True`` differ."""
    if isinstance(value, dict):
        return {key: strict(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [strict(inner) for inner in value]
    return type(value).__name__, value


def shuffled(value: Any, chance: random.Random) -> Any:
    """The value with the keys of every object in another order."""
    if isinstance(value, dict):
        pairs = list(value.items())
        chance.shuffle(pairs)
        return {key: shuffled(inner, chance) for key, inner in pairs}
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@given(json_values)
def test_all_texts_of_one_value_have_one_canonical_form(value: Any) -> None:
    """Spaces and escapes do not count."""
    assert canonical(json.loads(json.dumps(value, indent=3))) == canonical(json.loads(json.dumps(value)))


@given(json_values, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_count(value: Any, chance: random.Random) -> None:
    """At every depth."""
    other = shuffled(value, chance)
    assert canonical(other) == canonical(value)
    assert PRINTS.of_arguments("t", other) == PRINTS.of_arguments("t", value)


@given(json_values, json_values)
def test_different_values_have_different_forms_and_fingerprints(one: Any, other: Any) -> None:
    """And equal ones equal forms: nothing is coerced."""
    equal = strict(one) == strict(other)
    assert (canonical(one) == canonical(other)) is equal
    assert (PRINTS.of_arguments("t", one) == PRINTS.of_arguments("t", other)) is equal


@given(json_values)
def test_the_form_reads_back_as_the_value(value: Any) -> None:
    """It is JSON, and loses nothing."""
    assert strict(json.loads(canonical(value))) == strict(value)


def test_types_count() -> None:
    """``1``, ``1.0``, ``true`` and ``"1"`` are four values."""
    assert canonical({"b": 1, "a": 2}) == '{"a":2,"b":1}'
    assert len({canonical(value) for value in (1, 1.0, True, "1")}) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [("-0.0", "0.0"), ("1e2", "100.0"), ("0.1", "0.10"), ('{"a":[-0.0]}', '{"a":[0.0]}'), ("-0", "0")],
)
def test_one_number_has_one_form_however_it_is_written(one: str, other: str) -> None:
    """The sign of zero included, which JSON has and nothing means."""
    assert canonical(json.loads(one)) == canonical(json.loads(other))


def test_a_text_that_looks_like_minus_zero_stays() -> None:
    """Only numbers are numbers."""
    assert canonical(["-0.0", -0.0, -0.01, True]) == '["-0.0",0.0,-0.01,true]'


def test_text_is_compared_code_point_by_code_point() -> None:
    """The two forms of a letter are two file names; an unpaired surrogate is a value like another."""
    assert canonical("\u00e9") != canonical("e\u0301")
    assert canonical("\ud800") not in {canonical("\ud801"), canonical("\ufffd")}


@pytest.mark.parametrize("number", [2**63, -(2**200), 10**4000])
def test_integers_of_any_size_keep_every_digit(number: int) -> None:
    """Also beyond what a double can tell apart."""
    assert canonical(number) == str(number)
    assert canonical(number) != canonical(number + 1)


def test_two_hundred_levels_are_fine() -> None:
    """Three times what arguments may have."""
    value: Any = -0.0
    for level in range(200):
        value = {"a": value} if level % 2 else [value]
    assert canonical(value).count("a") == 100
