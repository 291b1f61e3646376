"""Which key fingerprints are made under: the caller's, the environment's, the store's, or one of this process.

With a key that a team gives to several machines, their traces compare. It is a secret: who has it can test guesses
against a trace. It stands nowhere; a trace holds a short digest of it, ``traced_loop.fingerprint.key_id``.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.redaction import register_secret
from traced_loop.telemetry.fingerprint import KEY_BYTES

KEY_VARIABLE: Final = "TRACED_LOOP_FINGERPRINT_KEY"
"""Environment variable with a key for every loop of a process."""
KEY_ARGUMENT: Final = "fingerprint_key"
MIN_GIVEN_BYTES: Final = 16
"""A given key of fewer bytes is refused: its fingerprints could be turned back by trying all keys."""
_ROUNDS: Final = 100_000
"""Of PBKDF2, once per key and process, some 50 ms: what people type is guessed that much more slowly."""
_SALT: Final = b"traced_loop fingerprint key 1"

GivenKey = bytes | str
"""Bytes, or a text that stands for its UTF-8 bytes without the white space around it. Hexadecimal and base64 are not
decoded, so that one text is one key on every machine."""


@frozen_value
class FingerprintKey:
    """A key and who gave it.

    Attributes:
        value: ``KEY_BYTES`` bytes; not in the ``repr``.
        source: ``fingerprint_key``, ``TRACED_LOOP_FINGERPRINT_KEY``, ``store`` or ``process``.
    """

    value: bytes = field(repr=False)
    source: str


def check_key(given: object) -> None:
    """Refuse what is no key, with the argument's name.

    Raises:
        UsageError: neither text nor bytes, or shorter than ``MIN_GIVEN_BYTES``.
    """
    if given is not None:
        _bytes_of(given, KEY_ARGUMENT)


def chosen_key(
    given: GivenKey | None, environment: Mapping[str, str], stored: Callable[[], bytes] | None
) -> FingerprintKey:
    """The caller's key, else the environment's, else the store's, else a random one.

    A given key is registered as a secret and stretched.

    Args:
        given: the caller's, or None.
        environment: where ``TRACED_LOOP_FINGERPRINT_KEY`` may stand; an empty one is an error, because it is more
            often a secret that did not arrive than a wish.
        stored: reads the store's key, or None where there is no store.

    Raises:
        UsageError: the key that was given is none; the message names where it came from, never the key.
        StoreError: the store's cannot be read.
    """
    if given is not None:
        return FingerprintKey(value=_stretched(_registered(_bytes_of(given, KEY_ARGUMENT))), source=KEY_ARGUMENT)
    if KEY_VARIABLE in environment:
        found = _bytes_of(environment[KEY_VARIABLE], KEY_VARIABLE)
        return FingerprintKey(value=_stretched(_registered(found)), source=KEY_VARIABLE)
    if stored is not None:
        return FingerprintKey(value=stored(), source="store")
    return FingerprintKey(value=secrets.token_bytes(KEY_BYTES), source="process")


def _bytes_of(given: object, source: str) -> bytes:
    make = "make one with `openssl rand -hex 32`"
    if not isinstance(given, (str, bytes)):
        raise UsageError(f"{source} is a {type(given).__name__}: pass a text or bytes; {make}")
    found = given.strip().encode(errors="surrogateescape") if isinstance(given, str) else given
    if not found:
        raise UsageError(f"{source} is empty: leave it out for a key of the store's own, or {make}")
    if len(found) < MIN_GIVEN_BYTES:
        raise UsageError(f"{source} has {len(found)} bytes, and at least {MIN_GIVEN_BYTES} are needed: {make}")
    return found


def _registered(key: bytes) -> bytes:
    """The key, which is masked from now on wherever it stands as text."""
    try:
        register_secret(key.decode())
    except UnicodeDecodeError:
        register_secret(key.hex())
    return key


@lru_cache(maxsize=8)
def _stretched(key: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", key, _SALT, _ROUNDS, KEY_BYTES)
