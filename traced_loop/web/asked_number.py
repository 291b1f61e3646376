"""A whole number in an address: a place in a list, of which the page decides what it makes of one that is not there."""

from typing import Final

MOST_DIGITS: Final = 9
"""More than any list here has, and no work to read."""


def asked_number(text: str) -> int | None:
    """The number, 0 or more; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
