"""Results that say the same have one normal form, and those that differ in numbers alone one masked form."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.rules.normalised_result import MAX_CHARACTERS, MAX_NUMBERS, normalised, normalised_error

SAME: list[tuple[Any, Any]] = [
    ({"b": 1, "a": [1, 2]}, {"a": [1, 2], "b": 1}),
    ("3 passed in 0.53s", "3 passed in  12.1s\n"),
    ({"log": "at 2026-11-30\nok"}, {"log": "at 2026-12-01\tok"}),
    ({"request_id": "a1", "state": "open"}, {"state": "open", "request_id": "b2"}),
    (json.dumps({"b": 1, "a": 2}), json.dumps({"a": 2, "b": 1}, indent=2)),
]
DIFFERENT: list[tuple[Any, Any]] = [
    ({"state": "open"}, {"state": "closed"}),
    ("3 passed in 0.53s", "4 passed in 0.53s"),
    ([1, 2], [2, 1]),
    ({"order": "A100"}, {"order": "A101"}),
    ("C:\\new", "C:\\old"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_says_the_same_has_one_form(one: Any, other: Any) -> None:
    """Whatever the order of keys, the white space and the clock."""
    assert normalised(json.dumps(one)).text == normalised(json.dumps(other)).text


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_two(one: Any, other: Any) -> None:
    """A number of things, a name, an order of members."""
    assert normalised(json.dumps(one)).text != normalised(json.dumps(other)).text


def test_a_text_result_has_the_form_of_its_text() -> None:
    """However it was recorded: as JSON text by a run, or plain in somebody else's history."""
    text = 'said "7"\nat 2026-11-30'
    assert normalised(json.dumps(text)) == normalised(text)


@pytest.mark.parametrize(
    ("text", "masked", "numbers"),
    [
        ("at 45% of 1.5 GB, -3 left", "at <n>% of <n> GB, <n> left", (45.0, 1.5, -3.0)),
        ('{"done":10,"rate":1e3}', '{"done":<n>,"rate":<n>}', (10.0, 1000.0)),
        ("VERSION v2 A100 T-17 10.0.0.1 3fa2c 10-20", "VERSION v2 A100 T-17 10.0.0.1 3fa2c 10-20", ()),
        ("\u5171\u67095\u4e2a", "\u5171\u6709<n>\u4e2a", (5.0,)),
        ("7 at 2026-11-30", "<n> at <time>", (7.0,)),
    ],
)
def test_numbers_that_stand_for_themselves_are_kept_aside(text: str, masked: str, numbers: tuple[float, ...]) -> None:
    """In their order; a name with digits in it is a name."""
    form = normalised(text)
    assert (form.masked, form.numbers, form.whole) == (masked, numbers, True)


def test_of_a_table_of_numbers_none_is_kept() -> None:
    """It is compared as a whole."""
    assert len(normalised("1 " * MAX_NUMBERS).numbers) == MAX_NUMBERS
    assert normalised("1 " * (MAX_NUMBERS + 1)).numbers == ()


@pytest.mark.parametrize("make", [str, json.dumps], ids=["plain", "JSON"])
def test_of_a_long_text_head_and_tail_count(make: Any) -> None:
    """It says so; a clock of another width in either moves no border into a word."""
    middle = "line of a log\n" * 10_000

    def form(begin: str, inside: str, end: str) -> Any:
        return normalised(make(f"{begin}\n{middle}{inside}\n{middle}{end}"))

    one = form("at 9:59:59", "x", "in 9.9s")
    assert (one.whole, len(one.text) < MAX_CHARACTERS + 10) == (False, True)
    assert form("at 10:00:01", "y", "in 10.25s") == one
    assert form("at 9:59:59", "x", "failed") != one
    assert form("failed", "x", "in 9.9s") != one


def test_all_that_the_model_is_told_of_a_long_text_counts() -> None:
    """By default these are its first 32,768 bytes."""
    told = "word " * 6_553
    rest = "line of a log " * 10_000
    assert normalised(f"{told}a {rest}").text != normalised(f"{told}b {rest}").text


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_form_that_is_its_own(text: str) -> None:
    """Nothing crashes, surrogates and broken JSON included."""
    assert normalised(text).text == normalised(text).text
    assert normalised(json.dumps(text)).whole


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a":' * 10_000, "9" * 60_000, '"', "{", "[NaN]", '{"a":1,"a":2}', ""])
def test_hostile_json_is_text(text: str) -> None:
    """Too deep, too long a number, broken."""
    assert normalised(text).whole


def test_an_error_is_the_same_at_another_time_and_has_one_signature_for_other_arguments() -> None:
    """Quotes and numbers are masked in the signature only."""
    first, again, other = (
        normalised_error(f"No such file: '{name}' (line 3) at {clock}, object at 0x{address:x}")
        for name, clock, address in [
            ("a.txt", "02:46:09", 2**44),
            ("a.txt", "03:00:00", 2**45),
            ("b's.txt", "03:00:00", 2**45),
        ]
    )
    assert first == again
    assert first[0] != other[0]
    assert normalised_error("No such file: 'a'")[1] == normalised_error("No such file: 'b'")[1]
    assert normalised_error("can't do 3 of 'x' - don't")[1] == "can't do <n> of <quoted> - don't"
