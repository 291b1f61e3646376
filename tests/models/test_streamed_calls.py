"""Calls out of pieces: each piece belongs to one call, or it is said that nobody can tell to which."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.closed_words import Anomaly
from traced_loop.models.streamed_calls import StreamedCalls

from ..processor_time import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Callable


def entry(name: Any = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """One entry of one delta."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


def read(*deltas: Any) -> tuple[list[Any], list[Anomaly]]:
    """The calls as they would have come whole, and what was odd; each delta is a list of entries."""
    calls = StreamedCalls()
    for delta in deltas:
        calls.take(delta)
    return calls.entries(), calls.anomalies


def texts(entries: list[Any]) -> list[Any]:
    """Id, name and arguments of each."""
    return [e and (e.get("id"), e["function"].get("name"), e["function"].get("arguments")) for e in entries]


GOOD = '{"a":"}","b":[{}],"c":"\\\\\\""}'
"""Complete arguments with every sign that could be taken for their end."""


@given(st.lists(st.integers(0, len(GOOD)), max_size=6))
def test_the_end_of_arguments_is_seen_wherever_they_are_split(cuts: list[int]) -> None:
    """So that the next name begins a call, and no earlier one does."""
    ends = [0, *sorted(cuts), len(GOOD)]
    pieces = [GOOD[a:b] for a, b in itertools.pairwise(ends)]
    deltas = [[entry("f" if n == 0 else None, text, index=0)] for n, text in enumerate(pieces)]

    entries, odd = read(*deltas, [entry("f", GOOD, index=0)], [entry("g", "", index=0)], [entry(None, "{}", index=0)])

    assert texts(entries) == [(None, "f", GOOD), (None, "f", GOOD), (None, "g", "{}")]
    assert odd == [Anomaly.STREAM_INDEX_REUSED]


@given(st.integers(1, len(GOOD) - 1))
def test_a_name_inside_of_arguments_begins_no_call(at: int) -> None:
    """The same name is repeated; another one can only be an error."""
    same, odd = read([entry("f", GOOD[:at], index=0)], [entry("f", GOOD[at:], index=0)])
    assert (texts(same), odd) == ([(None, "f", GOOD)], [])

    other, odd = read([entry("f", GOOD[:at], index=0)], [entry("g", GOOD[at:], index=0)])
    assert (other[-1], odd) == (None, [Anomaly.STREAM_CALL_UNCLEAR])


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param(
            [[entry("f", "{}", id="x")], [entry("f", "{}", id="y")], [entry("f", "{}")]],
            [("x", "f", "{}"), ("y", "f", "{}"), (None, "f", "{}")],
            id="no_index_and_whole",
        ),
        pytest.param(
            [[entry("f", "{", id="x"), entry("g", "{", id="y")], [entry(None, "}", id="x"), entry(None, "}", id="y")]],
            [("x", "f", "{}"), ("y", "g", "{}")],
            id="no_index_and_in_turn",
        ),
        pytest.param(
            [[entry("f", "{"), entry("g", "{}")], [entry(None, "")]],
            [(None, "f", "{"), (None, "g", "{}")],
            id="two_in_one_delta",
        ),
        pytest.param(
            [[entry("f")], [entry(None, "{}", id="x")], [entry("g", "{}", id="y")]],
            [("x", "f", "{}"), ("y", "g", "{}")],
            id="a_late_id_without_an_index",
        ),
        pytest.param(
            [[entry("f", "{", index=3, id="x")], [entry(None, "}", index=4, id="x")]],
            [("x", "f", "{}")],
            id="an_index_that_counts_pieces",
        ),
        pytest.param(
            [[entry("f", "{}", index=1, id="x")], [entry("g", "{}", index=0, id="x")]],
            [("x", "g", "{}"), ("x", "f", "{}")],
            id="one_id_for_two",
        ),
    ],
)
def test_a_piece_belongs_to_its_index_else_its_id_else_the_last_call(deltas: list[Any], expected: list[Any]) -> None:
    """In the order of the indexes where all have one, else as they began."""
    assert texts(read(*deltas)[0]) == expected


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param([[entry("f")], [entry("g", "{}", id="y")]], id="a_second_name_with_an_id"),
        pytest.param([[entry("f", "{")], [entry("g", "}")]], id="another_name_in_the_middle"),
        pytest.param([[entry("f", {"a": 1}, index=0)], [entry(None, {"a": 2}, index=0)]], id="two_objects"),
        pytest.param([[None]], id="null"),
        pytest.param([7], id="a_number"),
    ],
)
def test_what_cannot_be_told_is_an_entry_that_is_no_call(deltas: list[Any]) -> None:
    """The judge of the answer refuses all of it."""
    entries, odd = read(*deltas)

    assert entries[-1] is None
    assert Anomaly.STREAM_CALL_UNCLEAR in odd


def test_fields_beside_name_and_arguments_are_kept() -> None:
    """Those of the entry and of the function; the index is the stream's own."""
    [found], _ = read(
        [{"index": 0, "id": "x", "type": "function", "extra_content": {"a": 1}, "function": {"name": "f", "p": "a"}}],
        [{"index": 0, "extra_content": {"b": 2}, "function": {"arguments": "{}", "p": "b"}}],
    )

    assert found == {
        "id": "x",
        "type": "function",
        "extra_content": {"a": 1, "b": 2},
        "function": {"name": "f", "arguments": "{}", "p": "ab"},
    }


def test_names_in_every_piece_cost_their_length() -> None:
    """40,000 pieces that could each begin a call: what came before is not read again at each."""

    def prepare(size: int) -> Callable[[], None]:
        deltas = [[entry("f", '{"a":"' if n == 0 else "}", id=None)] for n in range(size)]

        def act() -> None:
            [_], _ = read(*deltas)

        return act

    assert growth(prepare, 2_500) < LINEAR
