"""Values that a caller gives, checked where they are given: the message names the argument and says what to write."""

import json
import math
from collections.abc import Iterable
from typing import Final, cast

from traced_loop.errors import UsageError

MOST_COUNT: Final = 2**63 - 1
"""Of a count: span attributes are integers of 64 bits with a sign, and so are the numbers of most servers."""
LEAST_AMOUNT: Final = 1e-9
"""Of an amount above 0: clocks count billionths of a second, and what is divided by less may be infinite."""
MOST_AMOUNT: Final = 1e9
"""Of an amount: thirty years in seconds, which every clock and every wait of the system can add up."""
_NO_LIMIT: Final = ", or None for no limit"
_SHOWN_CHARACTERS: Final = 80


def words(name: str, given: object, *, of: str) -> frozenset[str]:
    """A collection of names.

    Args:
        name: the argument.
        given: its value.
        of: what it is an argument of.

    Raises:
        UsageError: it is one text, which Python would take for a collection of letters, or holds something else.
    """
    if isinstance(given, str):
        instead = f"write {name}=[{json.dumps(given)}]"
        raise UsageError(f"{of}: {name}={given!r} is one text, no collection of names: {instead}")
    if not isinstance(given, Iterable):
        raise UsageError(f"{of}: {name}={given!r} is no collection of names")
    found = list(cast("Iterable[object]", given))
    for word in found:
        if not isinstance(word, str):
            raise UsageError(f"{of}: {name} holds {word!r}, which is no name")
    return frozenset(cast("list[str]", found))


def count(name: str, given: object, *, of: str, least: int = 1, or_none: bool = False) -> None:
    """Check a whole number from ``least`` to ``MOST_COUNT``, both included, or None where that is allowed.

    Raises:
        UsageError: it is another kind of value, or outside of these.
    """
    if given is None and or_none:
        return
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= MOST_COUNT:
        said = f"must be a whole number of at least {least} and at most {MOST_COUNT}"
        shown = shown_value(given)
        raise UsageError(f"{of}: {name}={shown} {said}{_NO_LIMIT if or_none else ''}", typed=f"{name} {shown}: {said}")


def amount(
    name: str, given: object, *, of: str, zero: bool = False, or_none: bool = False, most: float = MOST_AMOUNT
) -> None:
    """Check a number from ``LEAST_AMOUNT`` to ``most``, both included, 0 or None too where these are allowed.

    Raises:
        UsageError: it is none.
    """
    if given is None and or_none:
        return
    number = given if isinstance(given, (int, float)) and not isinstance(given, bool) else math.nan
    if not (LEAST_AMOUNT <= number <= most or (zero and number == 0)):
        said = f"must be a finite number{', 0 or more' if zero else ' of more than 0'}"
        allowed = f"({'0, or ' if zero else ''}from {LEAST_AMOUNT:g} on, and at most {most:.12g})"
        shown = shown_value(given)
        raise UsageError(
            f"{of}: {name}={shown} {said} {allowed}{_NO_LIMIT if or_none else ''}",
            typed=f"{name} {shown}: {said} {allowed}",
        )


def shown_value(given: object) -> str:
    """A value as Python writes it, cut where it is long: a number may have more digits than Python writes at all."""
    try:
        text = repr(given)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
