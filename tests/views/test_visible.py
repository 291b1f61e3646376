"""Text of a trace on a terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.views.visible import cut, visible


def test_what_could_confuse_a_terminal_is_shown_as_an_escape() -> None:
    """Colours, cursor moves, bidi overrides, hidden tags, lone surrogates and other line ends."""
    text = "a\x1b[31m\r\n\t\x7f\x9b\u202e\u200b\u2028\ud800\U000e0041"

    assert visible(text) == "a\\x1b[31m\\r\\n\\t\\x7f\\x9b\\u202e\\u200b\\u2028\\ud800\\U000e0041"


def test_what_shows_as_nothing_is_shown_as_an_escape() -> None:
    """Fillers, and the selectors that can carry a hidden message; an emoji's own selector stays."""
    assert visible("a\u3164\u2065\U000e0101b") == "a\\u3164\\u2065\\U000e0101b"
    assert visible("\u2764\ufe0f") == "\u2764\ufe0f"


def test_ordinary_text_of_any_script_stays() -> None:
    """Letters, signs and emoji are no danger."""
    assert visible("Zażółć 東京 ✓ 🎉 a\u00a0b") == "Zażółć 東京 ✓ 🎉 a\u00a0b"


@given(st.text())
def test_no_text_keeps_an_unsafe_character(text: str) -> None:
    """Whatever it holds, it is one line of printable text."""
    shown = visible(text)

    assert not any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in shown)
    assert len(shown.splitlines()) <= 1


def test_a_long_text_ends_in_an_ellipsis() -> None:
    """Within the limit, the ellipsis included; None cuts nothing."""
    assert (cut("abcdef", 4), cut("abcd", 4), cut("abcdef", None)) == ("abc…", "abcd", "abcdef")
