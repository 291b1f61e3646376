"""Text inside text: JSON in a string, base64, percent-encoding. What is found inside is masked outside."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote, unquote

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.markers import MARKER, marker

MAX_DEPTH: Final = 6
"""Layers that are opened. What lies deeper is still read as plain text, layer marks and all."""
MAX_JSON_DEPTH: Final = 200
"""Brackets inside one another; deeper JSON is read as plain text."""

_BASE64_LINE: Final = r"[A-Za-z0-9+/_-]{20,}+={0,2}"
_BASE64: Final = late_pattern(
    rf"(?<![A-Za-z0-9+/_-]){_BASE64_LINE}(?:(?:\\n|\s{{0,4}}\n\s{{0,8}}){_BASE64_LINE}){{0,64}}"
)
_BASE64_RUN: Final = late_pattern(r"[A-Za-z0-9+/_-]{20}")
_MIN_PRINTABLE: Final = 0.95
"""The share of signs that text consists of; below it, the base64 of something else was read."""
_PERCENT: Final = late_pattern(r"(?:%[0-9A-Fa-f]{2}[\w.~+!*'()-]{0,1024}+)+")
_BEFORE_PERCENT: Final = 128
_GAP: Final = "\x00\n\x00"
_MAX_SINGLE_RUNS: Final = 64
_INDENT: Final = late_pattern(r"[\[{]\n( +|\t)")
_JSON_ENDS: Final = {"{": "}", "[": "]", '"': '"'}
_BRACKET: Final = late_pattern(r"[\[{}\]]")


def may_be_encoded(text: str) -> bool:
    """Whether a run of base64 or an encoded sign is there."""
    return "%" in text or _BASE64_RUN.search(text) is not None


def may_be_json(text: str) -> bool:
    """Whether the text begins as JSON that holds other texts does."""
    return text[:1] in _JSON_ENDS or text[:1].isspace()


def parsed(text: str) -> Any:
    """The object, array or string that this whole text is, or None.

    Of fields with the same name in one object all are kept, the earlier ones with ``#`` behind their names: a reader
    takes the last, but the others are in the text too.
    """
    stripped = text.strip()
    if len(stripped) < 2 or stripped[-1] != _JSON_ENDS.get(stripped[0]):
        return None
    if stripped.count("[") + stripped.count("{") > MAX_JSON_DEPTH and _deepest(stripped) > MAX_JSON_DEPTH:
        return None
    try:
        return json.loads(stripped, object_pairs_hook=_all_fields)
    except (ValueError, RecursionError):
        return None


def _deepest(text: str) -> int:
    deep = most = 0
    for sign in _BRACKET.findall(text):
        deep += 1 if sign in "[{" else -1
        most = max(most, deep)
    return most


def _all_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    kept: dict[str, Any] = {}
    for name, value in reversed(pairs):
        free = name
        while free in kept or (free != name and free in fields):
            free += "#"
        kept[free] = value
    return dict(reversed(kept.items()))


def written(value: Any, like: str) -> str:
    """The value as JSON, spaced as the text that it was read from."""
    indent = _INDENT.search(like)
    head, tail = like[: len(like) - len(like.lstrip())], like[len(like.rstrip()) :]
    spaced = '": ' in like or indent is not None
    separators = (("," if indent else ", "), ": ") if spaced else (",", ":")
    pad = None if indent is None else indent[1] if indent[1] == "\t" else len(indent[1])
    ascii_only = "\\u" in like and (like.isascii() or _HALF.search(like) is not None)
    return head + json.dumps(value, ensure_ascii=ascii_only, separators=separators, indent=pad) + tail


_HALF: Final = late_pattern(r"(?i)\\ud[89a-f]")
"""Half of a sign beyond the Basic Multilingual Plane; alone it can be written as an escape only."""


def base64_hiding(text: str, hides: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """The runs of base64 whose plain text hides something."""
    for run in _BASE64.finditer(text):
        plain = _plain(run[0])
        if plain is not None and hides(plain):
            yield run.span()


def _plain(run: str) -> str | None:
    compact = re.sub(r"\\n|\s", "", run).replace("-", "+").replace("_", "/").rstrip("=")
    for cut in range(2):  # a word can follow without a gap, or the run was cut off
        size = len(compact) - cut
        try:
            head = base64.b64decode(compact[: min(size, 24) // 4 * 4])
            if not head.decode(errors="replace").rstrip("\ufffd").isprintable() and b"\n" not in head:
                return None
            plain = base64.b64decode(compact[:size] + "=" * (-size % 4)).decode()
        except (binascii.Error, ValueError):
            continue
        return plain if sum(c.isprintable() or c.isspace() for c in plain) >= len(plain) * _MIN_PRINTABLE else None
    return None


def decoded_percent(text: str, redact: Callable[[str], str]) -> str:
    """The text in which percent-encoded runs are masked inside: what was not found stays encoded."""
    runs = list(_percent_runs(text))
    if not runs:
        return text
    plain = [unquote(text[start:end], errors="surrogateescape") for start, end in runs]
    masked = _masked_together(plain, redact)
    parts: list[str] = []
    at = 0
    for (start, end), before, after in zip(runs, plain, masked, strict=True):
        parts += [text[at:start], text[start:end] if before == after else _encoded(after)]
        at = end
    return "".join([*parts, text[at:]])


def _masked_together(plain: list[str], redact: Callable[[str], str]) -> list[str]:
    """Each text masked, in one go: there can be thousands of them."""
    masked = redact(_GAP.join(plain)).split(_GAP)
    if len(masked) == len(plain):
        return masked
    # Something was found over the gaps between them.
    return [redact(one) for one in plain] if len(plain) < _MAX_SINGLE_RUNS else [marker("encoded")] * len(plain)


def _percent_runs(text: str) -> Iterator[tuple[int, int]]:
    """Encoded runs with the word that they continue."""
    done = 0
    for match in _PERCENT.finditer(text):
        start, least = match.start(), max(done, match.start() - _BEFORE_PERCENT)
        while start > least and (text[start - 1].isalnum() or text[start - 1] in "_.~+!*'()-"):
            start -= 1
        yield start, match.end()
        done = match.end()


def _encoded(shown: str) -> str:
    parts: list[str] = []
    at = 0
    for found in MARKER.finditer(shown):
        parts += [quote(shown[at : found.start()], safe="", errors="surrogateescape"), found[0]]
        at = found.end()
    return "".join([*parts, quote(shown[at:], safe="", errors="surrogateescape")])
