"""Values that a caller gives, checked where they are given: the message names the argument and says what to write."""

import json
import math
from collections.abc import Iterable
from typing import Final, cast

from traced_loop.errors import UsageError

_NO_LIMIT: Final = ", or None for no limit"


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
    """Check a whole number, or None where that is allowed.

    Raises:
        UsageError: it is another kind of value, or less than ``least``.
    """
    if given is None and or_none:
        return
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        said = f"must be a whole number of at least {least}"
        raise UsageError(f"{of}: {name}={given!r} {said}{_NO_LIMIT if or_none else ''}")


def amount(name: str, given: object, *, of: str, zero: bool = False, or_none: bool = False) -> None:
    """Check a finite number above 0, or from 0 on where ``zero`` is allowed, or None where that is.

    Raises:
        UsageError: it is none.
    """
    if given is None and or_none:
        return
    number = given if isinstance(given, (int, float)) and not isinstance(given, bool) else math.nan
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        said = f"must be a finite number{', 0 or more' if zero else ' of more than 0'}"
        raise UsageError(f"{of}: {name}={given!r} {said}{_NO_LIMIT if or_none else ''}")
