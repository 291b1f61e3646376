"""Patterns mean what ECMAScript says, in linear time; what no linear engine takes is refused in words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.linear_pattern import MAX_SIZE, UnusablePattern, linear_pattern

from .processor_time import references

FOUND = [
    (r"^(a+)+$", "aaa"),
    (r"^(?:a|a)*$", "a" * 1000),
    (r"^\d{4}-\d{2}$", "2024-11"),
    (r"^\/a\/b$", "/a/b"),
    (r"", "anything"),
    (r"b", "abc"),
    (r"a|", "x"),
    (r"a\Z", "ba"),
    (r"\Aa", "ab"),
    (r"^[\w-]+$", "a-b_1"),
    (r"^[\d-x]+$", "-x3"),
    (r"^[a&&b~~[]+$", "&~[ab"),
    (r"^[+--]+$", "+,-"),
    (r"\u00e9", "é"),
    (r"^\ud83d\ude00$", "😀"),
    (r"^\u{1F600}$", "😀"),
    (r"^.$", "😀"),
    (r"\bfoo\b", "a foo b"),
    (r"^\W$", "é"),
    (r"^\D$", "٣"),
    (r"^\s$", "\ufeff"),
    (r"^[^\S]$", "\u2028"),
    (r"(?i)^abc$", "ABC"),
    (r"(?i:a)b", "Ab"),
    (r"(?P<x>a)", "a"),
    (r"(?<y>a)b{2,}?", "abb"),
    (r"^\p{L}+$", "éß"),
    (r"^\p{Script=Greek}$", "\u03b1"),
    (r"^\P{L}$", "1"),
    (r"{", "{"),
    (r"}", "}"),
    (r"]", "]"),
    (r"x{a}", "x{a}"),
    (r"^[\b]\cA\0\x41$", "\x08\x01\x00A"),
    (r"\_\-\@\:\ ", "_-@: "),
    (r"^(?!\s*$).+", " x"),
    (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Passw0rd"),
    (r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$", "-1.50"),
]
ABSENT = [
    (r"^(a+)+$", "a" * 100_000 + "!"),
    (r"\d", "٣"),
    (r"^\w$", "é"),
    (r"a$", "a\n"),
    (r"^.$", "\u2028"),
    (r"^.$", "\n"),
    (r"^[^\s]+$", "a b"),
    (r"\bx", "ax"),
    (r"\p{Lu}", "a"),
    (r"^(?!\s*$).+", "  "),
    (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "passw0rd"),
    (r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$", "-."),
    (r"^(?!a|b)", "b"),
    (r"^[ab]*a[ab]{900}c", "ab" * 1_000),
]
REFUSED = [
    (r"(.)\1", "refers back"),
    (r"(?<y>a)\k<y>", "refers back"),
    (r"(?<=a)b", "looks ahead or behind"),
    (r"(?<!a)b", "looks ahead or behind"),
    (r"a(?=b)", "looks ahead or behind"),
    (r"a(?!b)", "looks ahead or behind"),
    (r"^(?=a)b|c", "looks ahead or behind"),
    (r"^(?=a(?=b))", "looks ahead or behind"),
    (r"^(?=a)*b", "a lookahead is repeated"),
    (r"(?s).", r"\(\?s is no group"),
    (r"(?>a)", r"\(\?> is no group"),
    (r"a{,3}", "repeats nothing"),
    (r"*a", "repeats nothing"),
    (r"a++", "a repetition is repeated"),
    (r"a{2}{3}", "a repetition is repeated"),
    (r"a{3,1}", "counts down"),
    (r"[z-a]", "counts down"),
    (r"[a-\d]", "a range ends in a class"),
    (r"[]", "a class is empty"),
    (r"[^]a]", "a class is empty"),
    (r"[a", "a class is never closed"),
    (r"(a", "never closed"),
    (r"a)", "closes nothing"),
    ("\\", "means nothing"),
    (r"\q", "means nothing"),
    (r"\p{Nonsense}", "not found"),
    (r"\ud83d", "half a character"),
    (r"(a{1000}){1000}", "1000000 states, and 10000 are the most"),
    (r"a{1000000}", "1000000 states"),
    ("(" * 60 + ")" * 60, "nested deeper than 50"),
]


@pytest.mark.parametrize(("pattern", "text"), FOUND)
def test_what_ecmascript_finds_is_found(pattern: str, text: str) -> None:
    """Anywhere in the text, unless the pattern says where."""
    assert linear_pattern(pattern).found_in(text)


@pytest.mark.parametrize(("pattern", "text"), ABSENT)
def test_what_ecmascript_does_not_find_is_not_found(pattern: str, text: str) -> None:
    """Digits, words and the end of a text are ECMAScript's, not Python's."""
    assert not linear_pattern(pattern).found_in(text)


@pytest.mark.parametrize(("pattern", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_in_words(pattern: str, said: str) -> None:
    """Whether it is no pattern, takes more than linear time, is huge, or means something else in each language."""
    with pytest.raises(UnusablePattern, match=said):
        linear_pattern(pattern)


PIECES = st.sampled_from([*r"abc01-_.^$|()[]{}*+?\/ &~,:=!<", r"\d", r"\w", r"\s", "[^", "(?:", "{2}", "{1,3}"])


@given(st.lists(PIECES, max_size=12).map("".join), st.text("abc01-_. {}[]&~", max_size=8))
def test_what_python_and_ecmascript_agree_about_has_one_answer(pattern: str, text: str) -> None:
    """Of ASCII without a line's end; whatever is written is read or refused, and nothing else is raised."""
    try:
        found = linear_pattern(pattern).found_in(text)
    except UnusablePattern:
        return
    try:
        expected = re.compile(pattern, re.A)
    except (re.error, FutureWarning):
        return  # ECMAScript takes more
    assert found == (expected.search(text) is not None)


def test_the_most_work_of_a_pattern_is_its_size_times_the_text() -> None:
    """The largest pattern and a text that keeps all of its states busy; any more for each two of them has no end."""
    pattern, text = f"^[ab]*a[ab]{{{MAX_SIZE - 100}}}c", "ab" * 10_000
    assert not linear_pattern(pattern).found_in(text)
    assert references(lambda: linear_pattern(pattern).found_in(text)) < 2_000
