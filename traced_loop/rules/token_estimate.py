"""Token counts where a provider gives none: an estimate from the size of what is sent, always marked as one.

The one estimator: of what a request will hold, of answers that nobody counted, and of what a script pretends to use.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import RESPONSE_FIELD

BYTES_PER_TOKEN: Final = 4
"""English text in the common tokenisers runs at about four UTF-8 bytes per token; JSON and other scripts at fewer
bytes, so this is a floor for them, never a bill."""

OVERHEAD_PER_MESSAGE: Final = 4
"""Role and separators, as counted in the provider's public guide for chat models."""

_SAID_TWICE: Final = frozenset({"message", "function_call"})

_encode = json.JSONEncoder(ensure_ascii=False).encode


def tokens_of_bytes(size: int) -> int:
    """Estimated tokens of that many UTF-8 bytes; at least 1 for anything that is not empty."""
    return -(-size // BYTES_PER_TOKEN)


def estimated_tokens(parts: Iterable[Mapping[str, Any]]) -> int:
    """Tokens that these messages or tool definitions take in a request."""
    return sum(json_tokens(_sent(part)) + OVERHEAD_PER_MESSAGE for part in parts)


def _sent(part: Mapping[str, Any]) -> Any:
    """What goes out of a message once: the items of a Responses answer hold its text and its calls a second time."""
    if RESPONSE_FIELD not in part:
        return part
    held = as_object(part[RESPONSE_FIELD]) or {}
    items = [fields for item in as_list(held.get("output")) or () if (fields := as_object(item)) is not None]
    beside = [item for item in items if as_text(item.get("type")) not in _SAID_TWICE]
    return [{key: value for key, value in part.items() if key != RESPONSE_FIELD}, *beside]


def json_tokens(value: Any) -> int:
    """Tokens of a value's JSON text, whose characters are counted as they are, not as escapes.

    Raises:
        TypeError: the value has no JSON form.
    """
    text = _encode(value)
    return tokens_of_bytes(len(text) if text.isascii() else len(text.encode(errors="surrogatepass")))
