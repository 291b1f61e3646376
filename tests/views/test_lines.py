"""Words that are put on lines."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from traced_loop.views.lines import folded, packed, word


def test_words_that_do_not_fit_go_below_and_indented() -> None:
    """Each word stays whole."""
    lines = packed(word("head"), [word("a" * 20), word("b" * 20), word("c")], width=40, indent=6)

    assert [line.plain for line in lines] == ["head  " + "a" * 20, "      " + "b" * 20 + "  c"]


def test_without_a_width_everything_is_one_line() -> None:
    """For a pipe."""
    (line,) = packed(word("head"), [word("a" * 500), word("b")], width=None, indent=6)

    assert line.plain == f"head  {'a' * 500}  b"


def test_text_is_never_read_as_markup() -> None:
    """Square brackets are square brackets."""
    (line,) = packed(word("[bold]x[/bold]"), [word("[link=http://evil]y")], width=80, indent=2)

    assert line.plain == "[bold]x[/bold]  [link=http://evil]y"


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z", "M"], include_characters=" "), max_size=200))
def test_folding_loses_nothing_and_never_passes_the_width(text: str) -> None:
    """Only spaces at a break are left out."""
    lines = list(folded(text, 10))

    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line) <= 10 for line in lines)
