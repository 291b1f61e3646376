"""How far a value goes."""

import pytest

from traced_loop.redaction import redact
from traced_loop.redaction.value_behind import Key, value_behind

MASK = "[REDACTED:assigned_secret]"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("passwd='two words 1', x", f"passwd='{MASK}', x"),
        ('password = "first1"\n           "second2"\nx', f'password = "{MASK}"\nx'),
        ("password='never closed1\nx", f"password='{MASK}\nx"),
        ("password=abc123; x", f"password={MASK}; x"),
        ("password=abc123\\nx", f"password={MASK}\\nx"),
        ("password%3Dabc123%26x", f"password%3D{MASK}%26x"),
        ("Authorization: Custom abc123def", f"Authorization: Custom {MASK}"),
        ("secret: bearer abc123", f"secret: bearer {MASK}"),
        ("password=" + "a1" * 3000 + " x", f"password={MASK} x"),
    ],
)
def test_a_value_ends_where_its_quote_or_its_line_or_its_word_does(text: str, masked: str) -> None:
    """Literals in the next line go on; a scheme is not part of it."""
    assert redact(text) == masked


def test_a_word_is_a_value_only_where_no_space_is_before_it() -> None:
    """``tight`` says so; at the end of a line it is one too, unless a colon joins them."""
    loose = Key(name="password", strength="any", sign="=", tight=False)
    tight = Key(name="password", strength="any", sign="=", tight=True)
    colon = Key(name="password", strength="any", sign=":", tight=False)
    assert value_behind("swordfish and", 0, loose) is None
    assert value_behind("swordfish and", 0, tight) == (0, 9)
    assert value_behind("swordfish\n", 0, loose) == (0, 9)
    assert value_behind("swordfish\n", 0, colon) is None
