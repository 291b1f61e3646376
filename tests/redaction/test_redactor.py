"""What masking promises of any text and any value."""

import json
import os
import threading
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import traced_loop.redaction
from traced_loop.errors import UsageError
from traced_loop.redaction import (
    Finding,
    RedactionRule,
    Redactor,
    default_redactor,
    redact,
    register_secret,
    rule_names,
)
from traced_loop.redaction.markers import FAILED

from .weird_values import texts, values

EXAMPLES = 5_000 if os.environ.get("TRACED_LOOP_NIGHTLY") else 100


def test_the_public_names_are_these() -> None:
    """What is imported from the package by name."""
    assert traced_loop.redaction.__all__ == [
        *("Finding", "Found", "RedactionRule", "Redactor", "default_redactor", "redact", "redact_text"),
        *("register_credentials", "register_environment", "register_secret", "rule_names"),
    ]


@given(texts)
@settings(max_examples=EXAMPLES)
@example('PASS:000:"0')
@example("gho_00000000000000000000$1$0000000000000000")
@example("PASS:[REDACTED")
def test_a_masked_text_is_its_own_masked_form(text: str) -> None:
    """Whatever the text, masking fails on none, and masking again changes nothing."""
    once = redact(text)
    assert isinstance(once, str)
    assert once != FAILED
    assert redact(once) == once


@given(values)
@settings(max_examples=EXAMPLES)
@example({"+10000000": 100})
@example({"Token": "000000----BEGIN PRIVATE KEY----"})
@example({"NAME": "+10000000", "VALUE": 100})
@example(["gho_00000000000000000000", "0001234A"])
def test_a_masked_value_is_its_own_masked_form(value: Any) -> None:
    """Whatever the value."""
    once = redact(value)
    assert once != FAILED
    assert repr(redact(once)) == repr(once)


@given(values)
@settings(max_examples=EXAMPLES)
def test_json_stays_json(value: Any) -> None:
    """An object, an array or a string that could be read before can be read afterwards, as the same kind."""
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        was = json.loads(text)
        if isinstance(was, (dict, list, str)):
            assert type(json.loads(redact(text))) is type(was)


@given(st.text())
def test_a_text_without_findings_is_the_same_object(text: str) -> None:
    """Nothing is copied."""
    assert redact(text) is text or redact(text) != text


@pytest.mark.parametrize(
    "value",
    [None, True, 0, 12, 1.5, float("inf"), pytest.param(10**5000, id="long"), "", [], {}, "abc", b"password=hunter2"],
)
def test_what_holds_nothing_comes_back_as_it_is(value: object) -> None:
    """What is no JSON too."""
    assert redact(value) is value


def test_a_value_on_which_a_rule_fails_is_masked_whole() -> None:
    """Texts and values; whatever else was in them."""

    def fails(found: str) -> bool:
        raise ZeroDivisionError(found)

    redactor = Redactor(add=[RedactionRule(name="broken", pattern="boom", check=fails)])
    assert redactor.text("a boom b") == FAILED
    assert redactor.value({"a": 1, "b": ["boom"]}) == FAILED
    assert redactor.value({"a": 1}) == {"a": 1}


def test_a_value_that_cannot_be_walked_is_masked_whole() -> None:
    """It contains itself, or nests deeper than any stack."""
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert redact(loop) == FAILED
    assert redact({"password": deep}) == FAILED


def test_rules_are_left_out_by_name() -> None:
    """Every name of the list can be; another is refused."""
    assert "me@example.com" in Redactor(without=["email"]).text("to me@example.com")
    assert Redactor(without=rule_names()).value({"password": "hunter2", "a": "me@example.com 4111 1111 1111 1111"}) == {
        "password": "hunter2",
        "a": "me@example.com 4111 1111 1111 1111",
    }
    with pytest.raises(UsageError, match="emial"):
        Redactor(without=["emial"])


def test_fields_are_called_secret_or_open() -> None:
    """Case and separators do not matter; an open one is searched like any other."""
    redactor = Redactor(secret_keys=["employee-number"], open_keys=["token"])
    assert redactor.value({"employeeNumber": "x12", "token": "A1b2C3d4E5f6", "Token": "me@example.com"}) == {
        "employeeNumber": "[REDACTED:secret_field]",
        "token": "A1b2C3d4E5f6",
        "Token": "[REDACTED:email]",
    }


def test_what_was_found_is_counted() -> None:
    """By rule; also where the text is known already; counts are added."""
    found: dict[str, int] = {}
    for _ in range(2):
        default_redactor().text("a@example.com, b@example.com", found)
    default_redactor().value({"password": "hunter2"}, found)
    assert found == {"email": 4, "secret_field": 1}


def test_findings_tell_the_places() -> None:
    """In characters of the text, own credentials among them."""
    register_secret("abracadabra")
    assert default_redactor().findings("a@example.com abracadabra") == [
        Finding(rule="email", start=0, end=13),
        Finding(rule="own_credential", start=14, end=25),
    ]


def test_threads_share_a_redactor() -> None:
    """And each gets its own text."""
    redactor, wrong = Redactor(), []

    def work(name: int) -> None:
        for n in range(50):
            text = f"{name} {n % 7} password=Tr0ub4dor{n % 7}"
            if redactor.text(text) != f"{name} {n % 7} password=[REDACTED:assigned_secret]":
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("piece", ["left at the door\n", '"a": 1, ', "\x00", "x", "\u202e\u0130 "])
def test_a_long_text_takes_a_few_times_its_own_memory(piece: str) -> None:
    """A quarter of a megabyte, also of signs that nobody writes, with a secret at its end."""
    text = piece * (2**18 // len(piece)) + " password=Tr0ub4dor3"
    tracemalloc.start()
    try:
        masked = Redactor().text(text)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert masked.endswith("password=[REDACTED:assigned_secret]")
    assert most < 100 * len(text)
