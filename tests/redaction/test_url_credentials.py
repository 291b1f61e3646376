"""What stands in front of the host of a URL."""

import pytest

from traced_loop.redaction import redact

MASK = "[REDACTED:url_credentials]"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://me:swordfish@db/app", f"postgres://me:{MASK}@db/app"),
        ("redis://:swordfish@cache:6379", f"redis://:{MASK}@cache:6379"),
        ("mysql://me:sw@rd/fish@db:3306/app", f"mysql://me:{MASK}@db:3306/app"),
        ("https://" + "A1b2C3d4" * 4 + "@git.example/a", f"https://{MASK}@git.example/a"),
        ("https://example.com:8080/a@b", "https://example.com:8080/a@b"),
        ("https://<user>:<password>@host/", "https://<user>:<password>@host/"),
        ("ssh://git@example.com/a.git", "ssh://git@example.com/a.git"),
        ("https://example.com/?at=12:30", "https://example.com/?at=12:30"),
    ],
)
def test_the_password_of_a_url_is_masked(text: str, masked: str) -> None:
    """User, host and path stay, and so do ports and paths that look like one."""
    assert redact(text) == masked
