"""JSON Web Tokens."""

import base64
import json

from traced_loop.redaction import redact


def part(value: object) -> str:
    """One part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


TOKEN = f"{part({'alg': 'HS256'})}.{part({'sub': 'ann', 'n': 1})}.{'s1G-' * 10}"


def test_a_token_is_masked_whole() -> None:
    """In text, over lines, without its signature."""
    assert redact(f"got {TOKEN}, ok") == "got [REDACTED:jwt], ok"
    assert redact(f"got {TOKEN[:40]}\n  {TOKEN[40:]}") == "got [REDACTED:jwt]"
    assert redact(f"got {TOKEN.rsplit('.', 1)[0]}. ok").startswith("got [REDACTED:jwt]")


def test_a_word_that_begins_alike_is_none() -> None:
    """Nor is one in the middle of a word."""
    assert redact("eyJ is how they begin") == "eyJ is how they begin"
    assert redact("monkeyJungle.tree.house") == "monkeyJungle.tree.house"
