"""Any value as JSON of bounded size."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.telemetry.content.json_pruning import MAX_DEPTH, MAX_STRING_BYTES, pruned

any_text = st.text(st.characters(exclude_categories=()))
any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.binary() | st.decimals(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(any_text, inner),
)


@given(any_value)
def test_whatever_is_given_has_a_json_form_then(value: Any) -> None:
    """Valid UTF-8, finite, of JSON's types."""
    text = json.dumps(pruned(value).value, ensure_ascii=False, allow_nan=False)
    assert text.encode()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_is_small_json_already_is_untouched(value: Any) -> None:
    """And nothing is counted."""
    assert (pruned(value).value, pruned(value).removed) == (value, 0)


def test_a_huge_text_keeps_its_beginning_and_its_true_size() -> None:
    """Twice as long as is searched for credentials, in characters of two bytes."""
    found = pruned("ä" * MAX_STRING_BYTES)
    assert found.value == "ä" * (MAX_STRING_BYTES // 2) + f"…[truncated {2 * MAX_STRING_BYTES} bytes]"
    assert found.removed == MAX_STRING_BYTES


def test_endless_depth_and_endless_lists_end() -> None:
    """A value that holds itself is only very deep."""
    loop: list[Any] = []
    loop.append(loop)
    assert json.dumps(pruned(loop).value).count("[") == MAX_DEPTH + 1  # the mark has one
    wide = pruned(list(range(100_000)))
    assert (len(wide.value), wide.value[-1]) == (5_001, "…[95000 more left out]")
    assert len(pruned({str(n): n for n in range(100_000)}).value) == 5_001


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (math.nan, "nan"),
        pytest.param(1 << 20_000, "<int of 20001 bits>", id="huge"),
        ({1: 2}, {"int": 2}),
        ((1, 2), [1, 2]),
        (object(), "<object>"),
        ("data:image/png;base64," + "A" * 4_000, "…[image/png, 3000 bytes left out]"),
        ("data:;base64,QUJD", "…[application/octet-stream, 3 bytes left out]"),
        ("data:text/plain,hello", "data:text/plain,hello"),
    ],
)
def test_what_is_no_json_or_the_body_of_a_file_is_replaced(value: Any, shown: Any) -> None:
    """By what can be said of it."""
    assert pruned(value).value == shown
