"""Keyed digests and canonical forms: arguments and results stay comparable in a trace that holds none of them."""

import hashlib
import json
import secrets
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object

DIGEST_BYTES: Final = 8
"""64 bits: equality within one store is what is asked, not resistance to a chosen collision."""
KEY_BYTES: Final = 32


class Fingerprints:
    """Digests under one key. Different keys give unrelated digests, so nobody can look a value up in a table."""

    def __init__(self, key: bytes | None = None) -> None:
        """Use the given key, or one that lives as long as this object."""
        self._hasher = hashlib.blake2b(digest_size=DIGEST_BYTES, key=key or secrets.token_bytes(KEY_BYTES))

    def of(self, *parts: str) -> str:
        """Sixteen hexadecimal digits for these texts, in this order."""
        hasher = self._hasher.copy()
        for part in parts:
            data = part.encode(errors="surrogatepass")
            hasher.update(b"%d:" % len(data))
            hasher.update(data)
        return hasher.hexdigest()


def canonical(value: Any) -> str:
    """One text for all JSON texts that mean the same: sorted keys, no spaces. ``1`` and ``1.0`` differ."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(text: str) -> str:
    """Unkeyed digest of configuration (prompts, tool definitions): equal in every store."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


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
