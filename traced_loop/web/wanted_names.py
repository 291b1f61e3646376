"""Which of the names that occur somebody means: a whole name, in which ``*`` stands for anything."""

from collections.abc import Iterable

from traced_loop.web.templates import shown


def wanted_names(pattern: str, known: Iterable[str]) -> frozenset[str]:
    """The names that fit, as they are stored.

    A name is known by how the page shows it, since that is what can be chosen and copied from it.

    Args:
        pattern: in either case of letters.
        known: the names that there are.
    """
    return frozenset(name for name in known if _fits(pattern.casefold(), shown(name).casefold()))


def _fits(pattern: str, name: str) -> bool:
    """In one way through the name, however many stars there are."""
    if pattern == name:
        return True
    first, *middle = pattern.split("*")
    if not middle:
        return False
    last = middle.pop()
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    place, end = len(first), len(name) - len(last)
    for part in middle:
        place = name.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True
