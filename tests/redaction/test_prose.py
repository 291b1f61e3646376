"""Secrets told in sentences."""

import pytest

from traced_loop.redaction import redact


@pytest.mark.parametrize(
    "text",
    [
        "I changed the password from @sw0rdfish1@ to @sw0rdfish2@.",
        "the login is ann / @sw0rdfish1@ for now",
        "My passphrase: @correct apple battery stone river@ for the backup.",
        "recovery phrase: @" + "apple river stone cloud " * 2 + "apple river stone cloud@",
        "the api key for the service @A1b2C3d4E5f6G7h8J9k0@.",
    ],
)
def test_a_secret_in_a_sentence_is_masked(text: str) -> None:
    """No key stands right before it."""
    parts = text.split("@")
    masked = redact(text.replace("@", ""))
    assert not [secret for secret in parts[1::2] if secret in masked]
    assert "[REDACTED:" in masked


@pytest.mark.parametrize(
    "text",
    ["I changed the password from the settings page", "login: see the page", "the passphrase is for the backup"],
)
def test_sentences_about_secrets_stay(text: str) -> None:
    """Nothing in them is one."""
    assert redact(text) == text
