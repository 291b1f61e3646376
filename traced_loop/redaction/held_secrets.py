"""Secrets of one piece of work, as a key that a person typed for one run: known while it goes on, forgotten after it.

While one is held it is masked as every own credential is, and beside that in what the store keeps of a run: nobody will
ever need it there, and a tool or a server may have given it back.
"""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from traced_loop.redaction.markers import marker
from traced_loop.redaction.own_secrets import (
    MIN_LENGTH,
    OWN_RULE,
    OwnSecrets,
    forget_secret,
    forms_of,
    own_secrets,
    register_secret,
)

_lock: Final = threading.Lock()
_holders: Final[Counter[str]] = Counter()
_lasting: Final[set[str]] = set()
"""Held ones that were known before, and are known after."""
_held: OwnSecrets = OwnSecrets()


def hold_secret(value: str | None) -> Callable[[], None]:
    """Mask this exact value until the returned function is called, which forgets it; calling that twice is fine.

    A value that several hold is forgotten with the last of them; one that was registered before stays so. Shorter than
    eight characters, or None: nothing is held.
    """
    if not value or len(value) < MIN_LENGTH:
        return _nothing
    global _held
    with _lock:
        if not _holders[value] and value in own_secrets().values:
            _lasting.add(value)
        _holders[value] += 1
        register_secret(value)
        _held = forms_of(frozenset(_holders))
    let_go: list[str] = [value]

    def released() -> None:
        if let_go:
            _release(let_go.pop())

    return released


def _release(value: str) -> None:
    global _held
    with _lock:
        _holders[value] -= 1
        if _holders[value]:
            return
        del _holders[value]
        _held = forms_of(frozenset(_holders))
        if value in _lasting:
            _lasting.discard(value)
        else:
            forget_secret(value)


def without_held(text: str) -> str:
    """A text, JSON among them, with the held secrets masked in every form in which they stand in it."""
    return _without(text, _held)


def without_own(text: str) -> str:
    """The same for all own credentials."""
    return _without(text, own_secrets())


def own_beginning(text: str) -> int:
    """Characters at the end of a text that may be the beginning of an own credential, of which the rest is to come."""
    known = own_secrets().plain
    longest = max(map(len, known), default=0)
    tail = text[max(0, len(text) - longest + 1) :] if longest else ""
    found = (at for at in range(len(tail)) if any(value.startswith(tail[at:]) for value in known))
    return len(tail) - next(found, len(tail))


def _without(text: str, secrets: OwnSecrets) -> str:
    for form in secrets.forms_in(text):
        text = text.replace(form, marker(OWN_RULE))
    return text


def _nothing() -> None:
    return
