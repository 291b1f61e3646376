"""Keyed digests: arguments, results, errors and keys stay comparable in a trace that holds none of them."""

import hashlib
import hmac
import secrets
from typing import Any, Final

from traced_loop.canonical_json import canonical
from traced_loop.json_shapes import as_list, as_object

DIGEST_BYTES: Final = 8
"""64 bits, of which nobody without the key can make two equal on purpose. By chance any two of n digests are equal with
a probability of about n²/2⁶⁵: 2.7 in a million for a store of ten million results, one in 10¹³ for a run of a thousand
calls, within which verdicts compare. Where an equal digest decides over a write, a longer one is used."""
KEY_BYTES: Final = 32


class Fingerprints:
    """HMAC-SHA256 under one key, cut to ``DIGEST_BYTES``; other keys give unrelated digests.

    So nobody without the key can look a value up in a table, or tell whether a trace holds a value that he guesses.
    """

    def __init__(self, key: bytes | None = None) -> None:
        """Use the given key, or one that lives as long as this object."""
        self._hasher = hmac.new(key or secrets.token_bytes(KEY_BYTES), digestmod="sha256")
        self.key_id = self.of("key id")
        """Tells whether the fingerprints of two traces compare: equal for equal keys, and no way back to one."""

    def of(self, *parts: str) -> str:
        """Sixteen hexadecimal digits for these texts, in this order.

        The first part says what the others are (``result``, ``error``), so that a result never equals a key.
        """
        hasher = self._hasher.copy()
        for part in parts:
            data = part.encode(errors="surrogatepass")
            hasher.update(b"%d:" % len(data))
            hasher.update(data)
        return hasher.digest()[:DIGEST_BYTES].hex()

    def of_arguments(self, tool: str, arguments: Any) -> str:
        """A call: the tool, and its arguments however they are written."""
        return self.of("arguments", tool, canonical(arguments))


def digest(text: str) -> str:
    """Unkeyed digest of configuration (prompts, tool definitions): equal in every store."""
    data = text.encode(errors="surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, usedforsecurity=False).hexdigest()


def shape(value: Any, depth: int = 3) -> str:
    """Kinds of a value without its content: ``object[3:int|str]``, ``list[2]``, ``str``, ``null``.

    Keys of a result are content like its values (a mapping by customer name), so they are counted, not named.
    """
    fields = as_object(value)
    if fields is not None:
        kinds = sorted({shape(v, depth - 1) for v in fields.values()}) if depth > 0 else []
        inner = ":" + "|".join(kinds[:4]) if kinds else ""
        return f"object[{len(fields)}{inner}]"
    items = as_list(value)
    if items is not None:
        return f"list[{len(items)}]"
    return "null" if value is None else type(value).__name__
