"""Which other conventions' keys the spans carry beside our own: none, unless somebody asks."""

import logging
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final, Literal

from traced_loop.errors import UsageError
from traced_loop.given_values import words

VARIABLE: Final = "TRACED_LOOP_COMPAT"
"""Names of conventions, comma-separated."""

Dialect = Literal["openinference"]
"""Conventions whose keys can be added."""

_KNOWN: Final[Mapping[str, Dialect]] = {"openinference": "openinference"}
_LOGGER: Final = logging.getLogger("traced_loop")


def dialects(given: Collection[str]) -> frozenset[Dialect]:
    """What ``compat=`` means.

    Raises:
        UsageError: one text instead of a collection, or a name that is not known.
    """
    named = words("compat", given, of="Loop")
    for name in named:
        if name not in _KNOWN:
            raise UsageError(f"Loop: compat names {name!r}; known are: {', '.join(_KNOWN)}")
    return frozenset(_KNOWN[name] for name in named)


def dialects_in(environment: Mapping[str, str]) -> frozenset[Dialect]:
    """What the environment asks for; a name that is not known is told and left out."""
    named = [word.strip().lower() for word in environment.get(VARIABLE, "").split(",") if word.strip()]
    for name in named:
        if name not in _KNOWN:
            _warn(name)
    return frozenset(_KNOWN[name] for name in named if name in _KNOWN)


@lru_cache(maxsize=16)
def _warn(name: str) -> None:
    """Once per name and process."""
    _LOGGER.warning("%s names %.40s, which is not known: %s is", VARIABLE, name, ", ".join(_KNOWN))
