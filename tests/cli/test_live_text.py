"""The end of a text in rows of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from traced_loop.cli.live_text import MAX_CHARACTERS, MAX_ROWS, LiveText
from traced_loop.views.visible import visible


def rows(*pieces: str, width: int = 10, most: int = MAX_ROWS) -> list[str]:
    """The rows after these pieces."""
    text = LiveText()
    for piece in pieces:
        text.add(piece)
    return text.rows(width, most)


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(2, 30), st.integers(1, 6))
def test_any_text_fits(pieces: list[str], width: int, most: int) -> None:
    """No row is wider, there are no more of them, and none holds what a terminal obeys."""
    found = rows(*pieces, width=width, most=most)

    assert len(found) <= most
    assert all(cell_len(row) <= width for row in found)
    assert all(visible(row) == row for row in found)


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        pytest.param(["ab", "cd"], ["abcd"], id="pieces_join"),
        pytest.param(["a\r", "\nb"], ["a", "b"], id="a_line_end_in_two_pieces"),
        pytest.param(["0123456789abc"], ["0123456789", "abc"], id="a_long_line"),
        pytest.param(["a\n\nb\n\n"], ["a", "", "b"], id="blank_lines"),
        pytest.param([""], [], id="nothing"),
    ],
)
def test_lines_are_rows(pieces: list[str], shown: list[str]) -> None:
    """As the model wrote them; blank ones at the end wait for what comes after."""
    assert rows(*pieces) == shown


def test_the_end_is_what_is_kept() -> None:
    """However long it gets."""
    [row] = rows("x" * 3 * MAX_CHARACTERS, "end", width=4, most=1)

    assert row.endswith("end"[-len(row) :])


def test_what_is_taken_away_was_there() -> None:
    """Once."""
    text = LiveText()
    text.add("a")

    assert (text.take_away(), text.take_away(), text.rows(10)) == (True, False, [])
