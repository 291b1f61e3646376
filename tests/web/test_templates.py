"""Templates: whatever they show is inert and visible, and none of them opens a way around that."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from enum import StrEnum
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.templates import FOLDER, shown, templates

UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
FILES = sorted(FOLDER.glob("*.html"))


class Word(StrEnum):
    ODD = "a\x1bb"


def rendered(source: str, **values: object) -> str:
    """A template of a test."""
    return templates().from_string(source).render(values)


@given(st.text() | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Lo"])))
def test_no_unsafe_character_leaves(text: str) -> None:
    """Neither a control nor a bidi mark nor half a character, line ends and tabs aside; the rest is as it was."""
    out = shown(text)
    assert all(unicodedata.category(each) not in UNSAFE or each in "\n\t" for each in out)
    assert len(out.encode()) >= len(text)
    if all(unicodedata.category(each) not in UNSAFE for each in text) and text.isascii():
        assert out == text


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "L", "P", "S"])))
def test_a_value_stays_text_wherever_it_stands(text: str) -> None:
    """In an element and in an attribute: the page that comes out has no element, attribute or end more."""

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[object] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            self.found.append((tag, [name for name, _ in attributes]))

    reader = Reader()
    reader.feed(rendered('<p title="{{ text }}">{{ text }}</p><b></b>', text=text))
    assert reader.found == [("p", ["title"]), ("b", [])]


@pytest.mark.parametrize("value", [Path("/a\x1bb"), Word.ODD, ["a\x1bb"], {"a\x1bb": 1}, ValueError("a\x1bb")])
def test_a_value_that_is_no_text_is_made_visible_too(value: object) -> None:
    """A path, a word of a list, what holds others."""
    out = rendered("{{ value }}", value=value)
    assert "\x1b" not in out
    assert r"\x1b" in out


def test_markup_of_a_value_is_text() -> None:
    """What calls itself HTML counts as HTML only when a template of ours made it."""

    class Sly:
        def __html__(self) -> str:
            return "<script>"

        def __str__(self) -> str:
            return "<sly>"

    assert rendered("{{ value }}", value=Sly()) == "&lt;sly&gt;"
    assert rendered("{% macro m() %}<b>{{ '<' }}</b>{% endmacro %}{{ m() }}") == "<b>&lt;</b>"


def test_what_is_missing_or_none_is_an_error() -> None:
    """Not an empty place, and not the word None."""
    with pytest.raises(jinja2.UndefinedError):
        rendered("{{ missing }}")
    with pytest.raises(ValueError, match="say what unknown is called"):
        rendered("{{ value }}", value=None)


def test_joined_and_formatted_values_are_shown_too() -> None:
    """Whatever a template does with them."""
    out = rendered("{{ ['<', value] | join(' ') }}{{ 'x%s' | format(value) }}{{ value ~ '<' }}", value="\u202e<")
    assert "\u202e" not in out
    assert unescape(out).count("<") == 5
    assert "<" not in out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_template_opens_a_way_around(path: Path) -> None:
    """None calls a value safe, and none has what the policy of the page forbids: inline styles, handlers, scripts."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*(?:safe|forceescape|xmlattr|tojson|urlize)\b|autoescape|Markup", text)
    assert not re.search(r"<[^>]*\s(?:style|on\w+)\s*=", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|javascript:", text)
    assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", text)
    assert not re.search(r"\s[\w-]+=\{\{", text), "a value in an attribute stands in quotes"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_form_that_changes_something_has_its_token(path: Path) -> None:
    """The gate takes no other."""
    for form in re.findall(r"<form\b.*?</form>", path.read_text(encoding="utf-8"), re.DOTALL):
        if 'method="post"' in form:
            assert '<input type="hidden" name="form_token" value="{{ form_token }}">' in form
        else:
            assert "form_token" not in form


def test_the_link_to_another_place_gives_nothing_away() -> None:
    """The one to Jaeger, which opens in the place of this page and is not told where it was."""
    links = [link for path in FILES for link in re.findall(r"<a\b[^>]*>", path.read_text(encoding="utf-8"))]
    assert not [link for link in links if re.search(r"\starget=", link)]
    [outside] = [link for link in links if 'href="{{ link }}"' in link]
    assert 'rel="noreferrer"' in outside


def test_a_dotted_name_may_break_between_its_words_only() -> None:
    """Nothing of it is lost, whatever it holds."""
    shown = "{% for part in name | words_of %}{{ part }}<wbr>{% endfor %}"
    assert rendered(shown, name="gen_ai.usage.input_tokens") == "gen_<wbr>ai.<wbr>usage.<wbr>input_<wbr>tokens<wbr>"
    assert rendered(shown, name="_.a..<\n") == "_.<wbr>a..<wbr>&lt;\n<wbr>"


def test_an_exact_moment_has_its_milliseconds() -> None:
    """A span may take less than a second."""
    at = datetime(2026, 11, 29, 22, 46, 1, 19_999, tzinfo=UTC)
    assert rendered("{{ at | utc_exact }}", at=at) == "2026-11-29 22:46:01.019 UTC"
    assert rendered("{{ at | utc }}", at=at) == "2026-11-29 22:46:01 UTC"
