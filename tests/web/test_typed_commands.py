"""Commands that the page shows."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.typed_commands import quoted


@pytest.mark.parametrize("text", ["call_1", "a b", "$(reboot)", "x; rm -rf ~", "it's", "", "a\nb", "\x1b[2J"])
def test_a_text_stays_one_word_and_no_command(text: str) -> None:
    """Whatever a model chose as an id; what a terminal would obey is written out."""
    assert len(shlex.split(f"traced-loop show {quoted(text)}")) == 3
    assert quoted(text).isprintable()


@given(st.text())
def test_no_text_is_more_than_one_word(text: str) -> None:
    """Any text at all."""
    assert len(shlex.split(quoted(text))) == 1
