"""Private keys between their lines."""

import pytest

from traced_loop.redaction import redact

DASHES = "-" * 5
BEGIN, END = f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}", f"{DASHES}END RSA PRIVATE KEY{DASHES}"
BODY = "MIIBOgIBAAJBAKj34GkxFhD90vcN" * 2


@pytest.mark.parametrize("gap", ["\n", "\\n", "\n    ", "\r\n"])
def test_a_whole_block_is_masked(gap: str) -> None:
    """Its lines on lines of their own, escaped, or indented."""
    assert redact(f"a {gap.join([BEGIN, BODY, BODY, END])} b") == "a [REDACTED:private_key] b"


def test_a_block_without_an_end_goes_as_far_as_its_body() -> None:
    """What is no base64 is text again."""
    assert redact(f"{BEGIN}\n{BODY}\n{BODY}\nand so on") == "[REDACTED:private_key]\nand so on"


def test_an_end_far_away_belongs_to_another_block() -> None:
    """64 KiB and more."""
    far = "a line of text\n" * 5000
    assert redact(f"{BEGIN}\n{BODY}\n{far}{END}").count("a line of text") == 5000


def test_what_is_public_stays() -> None:
    """Certificates and public keys."""
    text = f"{DASHES}BEGIN PUBLIC KEY{DASHES}\n{BODY}\n{DASHES}END PUBLIC KEY{DASHES}"
    assert redact(text) == text
