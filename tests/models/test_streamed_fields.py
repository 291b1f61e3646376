"""JSON that comes in pieces: what each kind of value makes of the one before it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.models.streamed_fields import GrowingObject, joined

from .test_chat_completion import json_values


def gathered(*pieces: dict[str, Any]) -> dict[str, Any]:
    """The object after these pieces."""
    growing = GrowingObject()
    for piece in pieces:
        growing.take(piece)
    return growing.whole()


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        pytest.param(["a", "b"], "ab", id="strings_grow"),
        pytest.param([None, "a", None, "b"], "ab", id="null_says_nothing"),
        pytest.param([None, None], None, id="null_alone"),
        pytest.param([1, 2], 2, id="numbers_are_replaced"),
        pytest.param([1, "a"], "a", id="another_kind_replaces"),
        pytest.param(["a", 1], 1, id="a_number_replaces_text"),
        pytest.param([{"a": "x"}, {"a": "y", "b": 1}], {"a": "xy", "b": 1}, id="objects_merge"),
        pytest.param([[1], [2, [3]]], [1, 2, [3]], id="lists_go_on"),
        pytest.param(
            [[{"index": 1, "t": "a"}], [{"index": 0, "t": "b"}, {"index": 1, "t": "c"}]],
            [{"index": 1, "t": "ac"}, {"index": 0, "t": "b"}],
            id="items_of_an_index_are_one",
        ),
        pytest.param([[{"t": "a"}], [{"t": "b"}]], [{"t": "a"}, {"t": "b"}], id="items_without_one_are_several"),
        pytest.param([[1], "a", "b"], [1, {"type": "text", "text": "ab"}], id="text_behind_parts_is_a_part"),
        pytest.param([[1], ""], [1], id="no_text_is_no_part"),
        pytest.param(["a", [1]], [{"type": "text", "text": "a"}, 1], id="parts_behind_text"),
        pytest.param([{"a": 1}, [1]], [1], id="a_list_replaces_an_object"),
    ],
)
def test_a_field_holds_what_its_pieces_say(values: list[Any], whole: Any) -> None:
    """In their order."""
    assert gathered(*[{"field": value} for value in values]) == {"field": whole}


@pytest.mark.parametrize("name", ["type", "id", "index", "format", "role"])
def test_fields_that_name_something_come_whole(name: str) -> None:
    """Again and again, at any depth; an empty one takes nothing back."""
    assert gathered({name: "a", "in": {name: "a"}}, {name: "b", "in": {name: ""}}) == {name: "b", "in": {name: "a"}}


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "type", "index"]), json_values, max_size=3), max_size=5))
def test_any_pieces_are_an_object(pieces: list[dict[str, Any]]) -> None:
    """Never a crash; of one piece it is that piece."""
    assert isinstance(gathered(*pieces), dict)
    for piece in pieces[:1]:
        assert gathered(piece) == piece


def test_what_is_given_is_not_changed() -> None:
    """The events are the caller's."""
    first: dict[str, Any] = {"a": {"b": [1]}}
    gathered(first, {"a": {"b": [2]}})

    assert first == {"a": {"b": [1]}}


def test_two_halves_of_a_character_are_one() -> None:
    """Only where they meet."""
    assert joined(["a\ud83d", "\ude00"]) == "a\U0001f600"
    assert joined(["a\ud83d", "b\ude00"]) == "a\ud83db\ude00"
    assert joined(["ä", "b"]) == "äb"
