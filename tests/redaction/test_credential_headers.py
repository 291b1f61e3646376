"""Cookies and basic authentication."""

import base64

from traced_loop.redaction import redact


def test_the_values_of_cookies_go_and_their_names_stay() -> None:
    """Attributes and preferences stay too."""
    assert redact("Set-Cookie: sid=A1b2C3d4; Path=/; HttpOnly") == "Set-Cookie: sid=[REDACTED:cookie]; Path=/; HttpOnly"
    assert redact("Cookie: a=A1b2; theme=dark; b=B1c2D3") == (
        "Cookie: a=[REDACTED:cookie]; theme=dark; b=[REDACTED:cookie]"
    )


def test_basic_authentication_is_known_by_what_it_encodes() -> None:
    """A user and a password; other words behind ``basic`` stay."""
    encoded = base64.b64encode(b"me:swordfish").decode()
    assert redact(f"sent Basic {encoded}") == "sent Basic [REDACTED:basic_auth]"
    assert redact("a basic understanding") == "a basic understanding"
