"""The key of fingerprints is the team's, the store's or the process's; a weak one is refused, none is shown."""

import pytest

from traced_loop.errors import UsageError
from traced_loop.redaction import redact_text
from traced_loop.telemetry.fingerprint import KEY_BYTES
from traced_loop.telemetry.fingerprint_key import KEY_VARIABLE, check_key, chosen_key

STORED = b"s" * KEY_BYTES
TEXT = "a team's own long key 4711"


def stored() -> bytes:
    """A store's key."""
    return STORED


def test_the_argument_goes_before_the_variable_and_both_before_the_store() -> None:
    """Without any of them the key lives as long as the process."""
    environment = {KEY_VARIABLE: "the key of the environment"}
    found = [
        chosen_key(TEXT, environment, stored),
        chosen_key(None, environment, stored),
        chosen_key(None, {}, stored),
        chosen_key(None, {}, None),
        chosen_key(None, {}, None),
    ]

    assert [key.source for key in found] == ["fingerprint_key", KEY_VARIABLE, "store", "process", "process"]
    assert len({key.value for key in found}) == 5
    assert {len(key.value) for key in found} == {KEY_BYTES}
    assert found[2].value == STORED


@pytest.mark.parametrize("given", [TEXT, TEXT.encode(), f" {TEXT}\n"], ids=["text", "bytes", "white space around"])
def test_one_key_is_the_same_however_it_is_given(given: str | bytes) -> None:
    """By the argument or the variable, so that the fingerprints of two machines compare."""
    assert chosen_key(given, {}, None).value == chosen_key(None, {KEY_VARIABLE: TEXT}, None).value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        (b"", "is empty"),
        ("short-4711", "has 10 bytes, and at least 16 are needed"),
        (b"x" * 15, "has 15 bytes"),
    ],
)
def test_a_key_that_is_empty_or_short_is_refused_and_not_repeated(given: str | bytes, said: str) -> None:
    """The message names where it came from, and a command that makes one."""
    with pytest.raises(UsageError, match=rf"^fingerprint_key {said}.*openssl rand -hex 32") as refused:
        check_key(given)
    assert "4711" not in str(refused.value)
    with pytest.raises(UsageError, match=said):
        chosen_key(given, {}, stored)
    if isinstance(given, str):
        with pytest.raises(UsageError, match=rf"^{KEY_VARIABLE} {said}"):
            chosen_key(None, {KEY_VARIABLE: given}, stored)


@pytest.mark.parametrize("given", [7, ["a"], True])
def test_what_is_neither_text_nor_bytes_is_no_key(given: object) -> None:
    """Its type is named, its value is not."""
    with pytest.raises(UsageError, match=rf"fingerprint_key is a {type(given).__name__}"):
        check_key(given)


def test_a_key_of_any_characters_is_fine() -> None:
    """Bytes that are no UTF-8 included, from the environment too."""
    odd = bytes(range(200, 232))
    assert chosen_key(odd, {}, None).value == chosen_key(odd.decode(errors="surrogateescape"), {}, None).value


def test_a_given_key_is_masked_wherever_it_stands_and_hidden_in_its_repr() -> None:
    """A tool may print the environment; somebody may log the wiring."""
    key = chosen_key("correct horse battery 4711", {}, None)
    odd = chosen_key(bytes(range(200, 232)), {}, None)

    assert "4711" not in redact_text("env: correct horse battery 4711")
    assert bytes(range(200, 232)).hex() not in redact_text(f"key {bytes(range(200, 232)).hex()}")
    assert repr(key.value) not in repr(key)
    assert repr(odd.value) not in repr(odd)
