"""Text inside text: JSON in a string, base64, percent-encoding. What is found inside is masked outside."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote, unquote

from traced_loop.redaction.opaque import MARKER

MAX_DEPTH: Final = 6
"""Layers that are opened. What lies deeper is still read as plain text, layer marks and all."""
MAX_JSON_DEPTH: Final = 200
"""Brackets inside one another; deeper JSON is read as plain text."""

_BASE64: Final = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}+={0,2}(?:(?:\\n|\s{0,4}\n\s{0,8})[A-Za-z0-9+/_-]{20,}+={0,2}){0,64}"
)
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{20}")
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~+!*'()-]{0,1024}+)++")
_BEFORE_PERCENT: Final = 128
_GAP: Final = "\x00\n\x00"
_INDENT: Final = re.compile(r"[\[{]\n( +|\t)")


def may_be_encoded(text: str) -> bool:
    """Whether a run of base64 or an encoded sign is there."""
    return "%" in text or _BASE64_RUN.search(text) is not None


def parsed(text: str) -> Any:
    """The object or array that this whole text is, or None."""
    stripped = text.strip()
    if len(stripped) < 2 or stripped[0] not in "{[" or stripped[-1] not in "}]":
        return None
    if stripped.count("[") + stripped.count("{") > MAX_JSON_DEPTH and _deepest(stripped) > MAX_JSON_DEPTH:
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def _deepest(text: str) -> int:
    deep = most = 0
    for sign in re.findall(r"[\[{}\]]", text):
        deep += 1 if sign in "[{" else -1
        most = max(most, deep)
    return most


def written(value: Any, like: str) -> str:
    """The value as JSON, spaced as the text that it was read from."""
    indent = _INDENT.search(like)
    ascii_only = like.isascii() and "\\u" in like
    head, tail = like[: len(like) - len(like.lstrip())], like[len(like.rstrip()) :]
    spaced = '": ' in like or indent is not None
    separators = (("," if indent else ", "), ": ") if spaced else (",", ":")
    pad = None if indent is None else indent[1] if indent[1] == "\t" else len(indent[1])
    return head + json.dumps(value, ensure_ascii=ascii_only, separators=separators, indent=pad) + tail


def decoded_base64(text: str, redact: Callable[[str], str]) -> list[tuple[int, int]]:
    """Runs of base64 whose plain text holds something to mask."""
    return [m.span() for m in _BASE64.finditer(text) if (plain := _plain(m[0])) is not None and redact(plain) != plain]


def _plain(run: str) -> str | None:
    compact = re.sub(r"\\n|\s", "", run).replace("-", "+").replace("_", "/").rstrip("=")
    for cut in range(2):
        size = len(compact) - cut
        try:
            head = base64.b64decode(compact[: min(size, 24) // 4 * 4])
            if not head.decode(errors="replace").rstrip("\ufffd").isprintable() and b"\n" not in head:
                return None
            plain = base64.b64decode(compact[:size] + "=" * (-size % 4)).decode()
        except (binascii.Error, ValueError):
            continue
        return plain if sum(c.isprintable() or c.isspace() for c in plain) >= len(plain) * 0.95 else None
    return None


def decoded_percent(text: str, redact: Callable[[str], str]) -> str:
    """The text in which percent-encoded runs are masked inside: what was not found stays encoded."""
    runs = list(_percent_runs(text))
    if not runs:
        return text
    # All at once: a text can hold thousands of them.
    plain = [unquote(text[start:end], errors="surrogateescape") for start, end in runs]
    shown = redact(_GAP.join(plain))
    masked = shown.split(_GAP)
    if masked == plain:
        return text
    if len(masked) != len(plain):  # something reached over the gaps
        masked = [redact(one) for one in plain] if len(plain) < 64 else [ENCODED_MARK] * len(plain)
    parts, at = [], 0
    for (start, end), before, after in zip(runs, plain, masked, strict=True):
        parts += [text[at:start], text[start:end] if before == after else _encoded(after)]
        at = end
    return "".join([*parts, text[at:]])


ENCODED_MARK: Final = "[REDACTED:encoded]"


def _percent_runs(text: str) -> Iterator[tuple[int, int]]:
    """Encoded runs with the word that they continue."""
    done = 0
    for match in _PERCENT.finditer(text):
        start = match.start()
        while (
            start > done
            and match.start() - start < _BEFORE_PERCENT
            and (text[start - 1].isalnum() or text[start - 1] in "_.~+!*'()-")
        ):
            start -= 1
        yield start, match.end()
        done = match.end()


def _encoded(shown: str) -> str:
    parts, at = [], 0
    for marker in MARKER.finditer(shown):
        parts += [quote(shown[at : marker.start()], safe="", errors="surrogateescape"), marker[0]]
        at = marker.end()
    return "".join([*parts, quote(shown[at:], safe="", errors="surrogateescape")])
