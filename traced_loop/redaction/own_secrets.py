"""The credentials of this very process, masked by value: whatever their shape, they are known."""

import os
import threading
from typing import Final

from traced_loop.redaction.key_names import strength_of
from traced_loop.redaction.opaque import entropy, is_location, is_placeholder

MIN_LENGTH: Final = 8
"""Shorter values are ignored: they stand in ordinary text by chance."""
MIN_ENTROPY: Final = 2.3
"""Bits per character; below it a value is a word like ``aaaaaaaa`` or ``passpass``."""

_lock: Final = threading.Lock()
_given: frozenset[str] = frozenset()
_ordered: tuple[str, ...] = ()
_seen_environment: dict[str, str] = {}


def register_secret(value: str | None) -> None:
    """Mask this exact value from now on, wherever it stands. Shorter than eight characters: ignored."""
    if value and len(value) >= MIN_LENGTH and value not in _given:
        _add({value})


def register_environment() -> None:
    """Mask the values of environment variables whose names say that they are secret; to be called when a run begins."""
    global _seen_environment
    now = dict(os.environ)
    if now == _seen_environment:
        return
    _seen_environment = now
    found = {value for name, value in now.items() if strength_of(name) != "none" and _is_secret(value)}
    if found - _given:
        _add(found)


def own_secrets() -> tuple[str, ...]:
    """The values, the longest first, so that no part of one is left when another is inside it."""
    return _ordered


def _is_secret(value: str) -> bool:
    if len(value) < MIN_LENGTH or is_location(value) or is_placeholder(value):
        return False
    return entropy(value[:256]) >= MIN_ENTROPY


def _add(values: set[str]) -> None:
    global _given, _ordered
    with _lock:
        _given = _given | values
        _ordered = tuple(sorted(_given, key=len, reverse=True))
