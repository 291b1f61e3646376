"""What may stand on a span is valid UTF-8, bounded, finite, and of few types, whatever was given."""

import json
import math
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.names import GEN_AI_INPUT_MESSAGES
from traced_loop.telemetry.attributes import (
    MAX_ITEMS,
    MAX_NAME_BYTES,
    MAX_VALUE_BYTES,
    Hygiene,
    clean,
    clean_name,
    cut,
    valid_text,
)

any_text = st.text(st.characters(exclude_categories=()))
any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.binary() | st.decimals(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(any_text, inner),
)


class Word(StrEnum):
    ONE = "one"


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def is_clean(value: Any) -> bool:
    """Whether a value is of a type and size that every receiver takes."""
    match value:
        case bool():
            return True
        case int():
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case str():
            return len(value.encode()) <= MAX_VALUE_BYTES
        case tuple():
            texts = all(isinstance(item, str) for item in value)
            return texts and len(value) <= MAX_ITEMS and len("".join(value).encode()) <= MAX_VALUE_BYTES
    return False


@given(st.dictionaries(any_text, any_value))
def test_whatever_is_given_comes_out_clean(given_attributes: dict[str, Any]) -> None:
    """Keys and values are valid UTF-8 and bounded, numbers fit into 64 bits and are finite."""
    cleaned = clean(given_attributes, Hygiene())
    assert all(is_clean(value) for value in cleaned.values())
    assert all(0 < len(key.encode()) <= MAX_NAME_BYTES + len("traced_loop.truncated.") for key in cleaned)


@given(st.dictionaries(any_text.filter(lambda key: len(key) < 30), any_value))
def test_cleaning_what_is_clean_changes_nothing(given_attributes: dict[str, Any]) -> None:
    """A second pass gives the same, and counts nothing."""
    once = clean(given_attributes, Hygiene())
    hygiene = Hygiene()
    assert clean(once, hygiene) == once
    assert hygiene == Hygiene()


@given(any_text, st.integers(0, 300))
def test_a_cut_text_is_a_bounded_valid_beginning(text: str, limit: int) -> None:
    """No half characters, no surrogates, never more bytes than allowed, and as much as fits."""
    shown = cut(text, limit)
    assert len(shown.encode()) <= limit
    assert valid_text(text).startswith(shown) or "\ufffd" in shown
    assert shown == valid_text(text) or len(shown.encode()) > limit - 4 or len(text) > limit


@given(any_text)
def test_valid_text_is_encodable_and_itself_when_it_was(text: str) -> None:
    """Only unpaired surrogates are replaced; pairs of them become the character that they mean."""
    made = valid_text(text)
    made.encode()
    assert made == text or any("\ud800" <= character <= "\udfff" for character in text)


def test_a_surrogate_pair_becomes_its_character() -> None:
    """Two halves that belong together are one character, a lone one is U+FFFD."""
    assert valid_text("a\ud83d\ude00b\ud83e") == "a\U0001f600b\ufffd"


def test_a_long_text_is_cut_with_its_true_size_beside_it() -> None:
    """The sibling attribute tells the UTF-8 bytes of the whole."""
    hygiene = Hygiene()
    cleaned = clean({"k": "ä" * 11_000_000}, hygiene)
    assert cleaned == {"k": "ä" * (MAX_VALUE_BYTES // 2), "traced_loop.truncated.k": 22_000_000}
    assert hygiene == Hygiene(truncated=1)


def test_a_text_that_just_fits_is_not_marked() -> None:
    """The bound itself is allowed."""
    assert clean({"k": "x" * MAX_VALUE_BYTES}, Hygiene()) == {"k": "x" * MAX_VALUE_BYTES}


def test_a_credential_is_masked_and_counted() -> None:
    """The receipt tells how many values held something."""
    hygiene = Hygiene()
    assert clean({"k": "password=hunter22", "n": "nothing"}, hygiene)["k"] == "password=[REDACTED:assigned_secret]"
    assert hygiene == Hygiene(redacted=1, redactions={"assigned_secret": 1})


def test_a_credential_at_the_cut_is_masked_before_it_is_cut() -> None:
    """No beginning of a credential is left at the end of a cut text."""
    text = "x" * (MAX_VALUE_BYTES - 10) + " sk-0123456789abcdefghij"
    assert "sk-" not in clean({"k": text}, Hygiene())["k"]


def test_content_is_neither_cut_at_the_usual_bound_nor_masked_again() -> None:
    """It was masked and fitted where it was made; a cut in the middle would leave no JSON."""
    text = json.dumps([{"content": "password=hunter22" + "x" * 2 * MAX_VALUE_BYTES}])
    hygiene = Hygiene()
    assert clean({GEN_AI_INPUT_MESSAGES: text}, hygiene) == {GEN_AI_INPUT_MESSAGES: text}
    assert hygiene == Hygiene()
    beyond = {GEN_AI_INPUT_MESSAGES: "x" * 100 * MAX_VALUE_BYTES}
    assert (clean(beyond, hygiene), hygiene) == (beyond, Hygiene())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(None, {}, id="none"),
        pytest.param(math.nan, {}, id="nan"),
        pytest.param(-math.inf, {}, id="infinity"),
        pytest.param({"a": 1}, {}, id="mapping"),
        pytest.param(b"bytes", {}, id="bytes"),
        pytest.param(True, {"k": True}, id="boolean"),
        pytest.param(2**63 - 1, {"k": 2**63 - 1}, id="largest-int64"),
        pytest.param(2**63, {"k": "9223372036854775808"}, id="beyond-int64"),
        pytest.param(1 << 50_000, {"k": "<int of 50001 bits>"}, id="integer-that-python-does-not-write"),
        pytest.param(Word.ONE, {"k": "one"}, id="word-of-an-enum"),
        pytest.param(["a", 1, None], {"k": ("a", "1", "None")}, id="list"),
        pytest.param((), {"k": ()}, id="empty-tuple"),
        pytest.param([Hostile()], {"k": ("<Hostile>",)}, id="item-without-a-text"),
    ],
)
def test_each_kind_of_value_has_one_form(value: object, shown: dict[str, Any]) -> None:
    """What OTLP has no type for is left out, never guessed."""
    assert clean({"k": value}, Hygiene()) == shown


def test_a_long_list_is_cut_and_counted() -> None:
    """Members beyond the bound are dropped."""
    hygiene = Hygiene()
    assert len(clean({"k": [str(n) for n in range(1000)]}, hygiene)["k"]) == MAX_ITEMS
    assert hygiene == Hygiene(truncated=1)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("chat gpt", "chat gpt"), ("", "_"), ("look\ud83e", "look\ufffd"), ("ä" * 100, "ä" * (MAX_NAME_BYTES // 2))],
)
def test_a_name_is_valid_bounded_and_never_empty(name: str, shown: str) -> None:
    """An unencodable span name would cost the whole batch."""
    assert clean_name(name) == shown


def test_clean_attributes_are_json() -> None:
    """What comes out can be written to the store without a question."""
    cleaned = clean({"a": "\ud83e", "b": [math.nan], "c": 10**30}, Hygiene())
    assert json.loads(json.dumps(cleaned, allow_nan=False, ensure_ascii=False).encode()) is not None
