"""Credentials with a shape of their own."""

import pytest

from traced_loop.redaction import redact


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("password_hash", "$2b$12$" + "Ab1.xY9/" * 6),
        ("bearer", "sent Bearer " + "A1b2C3d4-" * 3),
        ("otp_url", "otpauth://totp/me?secret=" + "JBSWY3DP" * 2),
        ("oauth_code", "https://a.b/cb?code=" + "A1b2C3d4" * 2 + "&state=x"),
        ("signature", "X-Amz-Signature=" + "0a1b2c3d" * 8),
        ("telegram_token", "123456789:AA" + "A1b2C3d4" * 4),
    ],
)
def test_each_shape_has_its_rule(rule: str, text: str) -> None:
    """It names itself in the marker."""
    assert f"[REDACTED:{rule}]" in redact(text)


@pytest.mark.parametrize(
    "text", ["the bearer of this letter", "Bearer <token>", "Bearer token", "$5 and $6", "?code=404"]
)
def test_what_has_no_such_shape_stays(text: str) -> None:
    """Words, placeholders, money, codes of errors."""
    assert redact(text) == text
