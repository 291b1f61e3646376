"""What looks like a credential, and what only stands for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.redaction import opaque


@pytest.mark.parametrize(
    "value",
    [
        *("<token>", "${TOKEN}", "$TOKEN", "{{ secret }}", "{token}", "%(password)s", "%PASSWORD%", "[YOUR KEY]", ""),
        *(
            "your-api-key",
            "YOUR_API_KEY_HERE",
            "changeme",
            "****",
            "xxxxxxxx",
            "...",
            "None",
            "null",
            "true",
            "SecretStr",
        ),
        *("Optional[str]", "[REDACTED:email]", "[REDACTED]", "  ", "required", "password", "env"),
    ],
)
def test_what_stands_for_a_secret_is_a_placeholder(value: str) -> None:
    """Nothing is hidden by hiding it, and the reader loses the example."""
    assert opaque.is_placeholder(value)
    assert not opaque.looks_opaque(value)


@pytest.mark.parametrize("value", ["hunter2", "Tr0ub4dor#3", "A1b2C3d4E5f6", "x" * 300, "passw0rd"])
def test_a_secret_is_no_placeholder(value: str) -> None:
    """However weak."""
    assert not opaque.is_placeholder(value)


@pytest.mark.parametrize("value", ["A1b2C3d4E5f6", "kLmNoPqRsTuVwXyZ", "Tr0ub4dor"])
def test_mixed_signs_look_opaque(value: str) -> None:
    """Eight characters and more: letters and digits, or an order of cases that no word has."""
    assert opaque.looks_opaque(value)


@pytest.mark.parametrize(
    "value",
    [
        *("password", "two words 12", "short1", "2026-11-30T04:00:00Z", "123456789", "config.api_key", "get_key(1)"),
        *("https://example.com/a1", "/etc/keys/a1b2c3", "arn:aws:iam::123456789012:role/a", "aaaaaaa1", "UPPER-CASE"),
    ],
)
def test_words_numbers_code_and_paths_do_not(value: str) -> None:
    """They say where a secret lies, or nothing of it."""
    assert not opaque.looks_opaque(value)


def test_prose_has_spaces_and_small_words() -> None:
    """Two spaces and more."""
    assert opaque.is_sentence("must be at least 8 characters")
    assert not opaque.is_sentence("correct horse battery river")
    assert not opaque.is_sentence("is set")


@given(st.text())
def test_any_text_can_be_asked_about(value: str) -> None:
    """No question raises, and entropy is never above the number of characters allows."""
    for question in (opaque.is_placeholder, opaque.is_code, opaque.is_location, opaque.is_sentence, opaque.is_word):
        assert question(value) in (True, False)
    assert opaque.looks_opaque(value) in (True, False)
    assert opaque.looks_random(value) in (True, False)
    assert 0 <= opaque.entropy(value) <= max(len(value), 1)
