"""Arguments on the page: every field that can be shown, nothing secret, nothing without an end."""

from __future__ import annotations

from traced_loop.web.shown_arguments import MAX_FIELDS, MAX_VALUE_CHARACTERS, shown_arguments


def test_values_are_json_and_text_of_several_lines_is_as_it_is() -> None:
    """A number and the text of it differ."""
    shown = shown_arguments({"n": 5, "text": "5", "list": [1, None], "lines": "a\nb"})
    assert [(field.name, field.text, field.is_text) for field in shown.fields] == [
        ("n", "5", False),
        ("text", '"5"', False),
        ("list", "[1, null]", False),
        ("lines", "a\nb", True),
    ]
    assert (shown.masked, shown.left_out) == (0, 0)


def test_a_secret_is_masked_and_counted() -> None:
    """By the rules for spans, also inside of a list."""
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    shown = shown_arguments({"headers": [f"Bearer {key}"], "password": "hunter2hunter2"})
    assert key not in repr(shown)
    assert "hunter2" not in repr(shown)
    assert shown.masked == 2


def test_what_is_long_is_cut_and_what_is_more_is_counted() -> None:
    """The size that is said is that of the whole value."""
    shown = shown_arguments({"a" * 100: "x" * 10_000, **{f"f{n}": n for n in range(MAX_FIELDS)}})
    first = shown.fields[0]
    assert (len(first.name), len(first.text), first.characters) == (64, MAX_VALUE_CHARACTERS, 10_002)
    assert (len(shown.fields), shown.left_out) == (MAX_FIELDS, 1)
    assert shown.fields[1].characters == 0


def test_no_arguments_are_no_fields() -> None:
    """The page says so."""
    assert shown_arguments({}).fields == ()
