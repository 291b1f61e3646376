"""The words of the page: the same in each language, none missing where it is used, none that nobody uses."""

from __future__ import annotations

import re
import string
import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web import page_words as module
from traced_loop.web.page_words import LANGUAGES, page_words, wanted_language
from traced_loop.web.templates import FOLDER as TEMPLATES

if TYPE_CHECKING:
    from pathlib import Path

WEB = module.FOLDER.parent
KEY = re.compile(
    r"""(?<![\w.])(?:t|words|words_of\(request\)|context\["t"\])(?:\.known)?\(\s*f?(["'])([\w.{}-]+)\1(\s*~)?"""
)
"""A use of a text, in a template or in code: the key, or its beginning where the rest is put together."""
LITERAL = re.compile(r"""["']([a-z_]+(?:\.[a-z_0-9]+)+\.?)["']""")


def sources() -> list[Path]:
    """Whatever may use a text."""
    return [*sorted(TEMPLATES.glob("*.html")), *sorted(WEB.rglob("*.py"))]


def used() -> tuple[set[str], set[str]]:
    """Keys that are used, and beginnings of keys."""
    keys: set[str] = set()
    beginnings: set[str] = set()
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for match in KEY.finditer(text):
            key = match[2]
            if "{" in key or match[3] or key.endswith("."):
                beginnings.add(key.partition("{")[0])
            else:
                keys.add(key)
        # A key that is given to what asks for it, as a literal of its own.
        keys |= {each for each in LITERAL.findall(text) if each in page_words("en").texts}
        beginnings |= {each for each in LITERAL.findall(text) if each.endswith(".")}
    return keys, beginnings


@pytest.mark.parametrize("path", sorted(module.FOLDER.glob("*.toml")), ids=lambda path: path.name)
def test_a_file_has_the_languages_of_the_page_and_no_other(path: Path) -> None:
    """One table each."""
    assert set(tomllib.loads(path.read_text(encoding="utf-8"))) == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_languages_have_the_same_texts_with_the_same_values(language: str) -> None:
    """A key of one language is one of all, and none names a value that another does not have."""
    english, other = page_words("en").texts, page_words(language).texts
    assert {key.removesuffix("_one") for key in other} == {key.removesuffix("_one") for key in english}
    for key, text in other.items():
        assert text.strip(), key
        plain = english.get(key, english.get(key.removesuffix("_one"), ""))
        assert values(text) == values(plain) or key.endswith("_one"), key


def values(text: str) -> set[str | None]:
    """What is put into a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("other", ["令牌", "代理", "提供方", "编号", "追踪", "您"])
def test_a_thing_has_one_word_in_chinese_on_every_page(other: str) -> None:
    """Token, 智能体, 服务商, ID, trace and 你; not one word here and another there."""
    assert [key for key, text in page_words("zh").texts.items() if other in text] == []


def test_each_text_that_is_used_is_there() -> None:
    """In templates and in code."""
    keys, beginnings = used()
    texts = page_words("en").texts
    assert {key for key in keys if key not in texts} == set()
    assert {start for start in beginnings if start and not any(key.startswith(start) for key in texts)} == set()


def test_no_text_is_left_over() -> None:
    """What nobody uses is not translated."""
    keys, beginnings = used()
    starts = tuple(start for start in beginnings if start)
    left = {
        key for key in page_words("en").texts if key.removesuffix("_one") not in keys and not key.startswith(starts)
    }
    assert left == set()


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "en-GB,en;q=0.9,zh;q=0.8", "en"),
        (None, "fr,zh;q=0.5,en;q=0.4", "zh"),
        (None, "en;q=0.2,zh;q=0.8", "zh"),
        (None, "zh;q=0,fr", "en"),
        (None, "ZH-Hans", "zh"),
        (None, "zh;q=odd,en", "en"),
        ("zh", "en", "zh"),
        ("xx", "zh", "zh"),
        ("../zh", "", "en"),
    ],
)
def test_the_language_is_the_chosen_one_else_the_browsers(chosen: str | None, accepted: str, language: str) -> None:
    """By the browser's weights; what the page does not speak is passed over."""
    assert wanted_language(chosen, accepted) == language


@given(st.none() | st.text(), st.text())
def test_any_wish_gets_a_language(chosen: str | None, accepted: str) -> None:
    """However odd it is written."""
    assert wanted_language(chosen, accepted) in LANGUAGES


def test_a_value_is_put_in_as_it_is() -> None:
    """What looks like a place for a value in a value is none."""
    assert page_words("en")("page.store", folder="{folder.__class__}") == "Store: {folder.__class__}"
