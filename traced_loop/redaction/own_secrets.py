"""The credentials of this very process, masked by value: whatever their shape, they are known."""

import base64
import json
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.redaction.markers import MARKER
from traced_loop.redaction.rule import Place

MIN_LENGTH: Final = 8
"""Shorter values are ignored: they stand in ordinary text by chance."""
MIN_ENTROPY: Final = 2.3
"""Bits per character; below it a value of the environment is something like ``aaaaaaaa`` or ``passpass``."""
MIN_WORD: Final = 20
"""Letters only and shorter than this, a value of the environment is a word: ``postgres`` would be masked everywhere."""
OWN_RULE: Final = "own_credential"
"""What masks them, by its name in markers."""
_URL_SAFE: Final = str.maketrans("+/", "-_")


@frozen_value
class OwnSecrets:
    """The values known at one moment, each in the forms in which text carries it."""

    values: frozenset[str] = frozenset()
    plain: tuple[str, ...] = ()
    escaped: tuple[str, ...] = ()
    percent: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    base64: tuple[str, ...] = ()

    def forms_in(self, text: str) -> tuple[str, ...]:
        """The forms that stand in the text, the longest first."""
        if not self.values:
            return ()
        forms = self.plain + self.base64
        forms += self.escaped if "\\" in text else ()
        forms += self.percent if "%" in text else ()
        forms += self.entities if "&" in text else ()
        return tuple(sorted((form for form in forms if form in text), key=len, reverse=True))


_lock: Final = threading.Lock()
_known: OwnSecrets = OwnSecrets()
_seen_environment: dict[str, str] = {}


def register_secret(value: str | None) -> None:
    """Mask this exact value from now on, wherever it stands. Shorter than eight characters: ignored."""
    if value and len(value) >= MIN_LENGTH:
        _add({value})


def register_environment() -> None:
    """Mask the credentials among the environment's values from now on; to be called when a run begins.

    A credential is a value of eight characters and more whose variable is named like one, and that is neither a path, a
    placeholder, nor a plain word. What the environment no longer holds is still masked.
    """
    global _seen_environment
    now = dict(os.environ)
    if now != _seen_environment:
        register_credentials(now)
        _seen_environment = now


def register_credentials(variables: Mapping[str, str]) -> None:
    """Mask the credentials among these variables, as ``register_environment`` says, from now on."""
    _add({value for name, value in variables.items() if _is_credential(name, value)})


def forget_secret(value: str) -> None:
    """Do not mask this value any more, unless it is a credential of the environment when the next run begins."""
    global _known, _seen_environment
    with _lock:
        _known, _seen_environment = forms_of(_known.values - {value}), {}


def own_secrets() -> OwnSecrets:
    """What is known now; another object whenever that changed."""
    return _known


def own_places(text: str, forms: tuple[str, ...]) -> Iterator[Place]:
    """Where these forms stand.

    One inside a marker is the marker's own word; one over its edge takes the marker along.
    """
    markers = [match.span() for match in MARKER.finditer(text)]
    starts = [start for start, _ in markers]
    for form in forms:
        at = text.find(form)
        while at >= 0:
            end = at + len(form)
            touched = markers[max(0, bisect_right(starts, at) - 1) : bisect_right(starts, end - 1)]
            touched = [(first, last) for first, last in touched if first < end and at < last]
            if not any(first <= at and end <= last for first, last in touched):
                yield at, end
                yield from touched
            at = text.find(form, at + 1)


def _is_credential(name: str, value: str) -> bool:
    if len(value) < MIN_LENGTH:
        return False
    # Their patterns take 20 ms to compile, which a process without such values does not spend.
    from traced_loop.redaction.key_names import strength_of
    from traced_loop.redaction.opaque import entropy, is_location, is_placeholder, is_word, looks_opaque

    strength = strength_of(name)
    if strength not in ("any", "opaque") or is_location(value) or is_placeholder(value):
        return False
    if strength == "opaque" and not looks_opaque(value):
        return False
    return entropy(value[:256]) >= MIN_ENTROPY and not (is_word(value) and len(value) < MIN_WORD)


def _add(values: set[str]) -> None:
    global _known
    with _lock:
        if values <= _known.values:
            return
        _known = forms_of(_known.values | values)


def forms_of(values: frozenset[str]) -> OwnSecrets:
    """Values with the forms in which text carries them."""
    return OwnSecrets(
        values=values,
        plain=tuple(values),
        escaped=tuple({form for value in values for form in _escaped(value)} - values),
        percent=tuple({form for value in values for form in _percent(value)} - values),
        entities=tuple({form for value in values for form in _entities(value)} - values),
        base64=tuple({form for value in values for form in _base64(value)}),
    )


def _escaped(value: str) -> set[str]:
    """As strings of JSON have it, and once more: JSON stands in strings of JSON."""
    once = _in_json({value})
    return once | _in_json(once)


def _in_json(texts: set[str]) -> set[str]:
    """Texts between the quotes of JSON, with other signs and slashes escaped or not."""
    found = {json.dumps(text, ensure_ascii=escaped)[1:-1] for text in texts for escaped in (True, False)}
    return found | {text.replace("/", "\\/") for text in found}


def _percent(value: str) -> set[str]:
    """With every sign that may be quoted, or with slashes as they are, the digits in either case."""
    from urllib.parse import quote  # not at the top: it costs a process without such values 5 ms

    quoted = {quote(value, safe=safe, errors="surrogatepass") for safe in ("", "/")}
    return quoted | {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in quoted}


def _entities(value: str) -> set[str]:
    """As HTML has it, with the names and with the numbers of its quotes."""
    text = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {
        text.replace('"', double).replace("'", single)
        for double in ('"', "&quot;", "&#34;")
        for single in ("'", "&#x27;", "&#39;")
    }


def _base64(value: str) -> Iterator[str]:
    """What every base64 of a text with this value in it holds, for each of the three places where it can begin."""
    for ahead in range(3):
        raw = b"\0" * ahead + value.encode(errors="surrogatepass")
        inner = base64.b64encode(raw).decode().rstrip("=")
        # The first signs mix in what stands before, the last one what stands behind.
        inner = inner[(0, 2, 3)[ahead] : len(inner) - (1 if len(raw) % 3 else 0)]
        yield inner
        yield inner.translate(_URL_SAFE)
