"""Secrets in JSON values: a field's name tells what its value is, also in pairs of name and value."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object
from traced_loop.redaction.check_digits import digits_of
from traced_loop.redaction.key_names import Strengths, is_identifier
from traced_loop.redaction.opaque import is_location, is_marked, is_placeholder, is_sentence, looks_opaque
from traced_loop.redaction.personal_numbers import is_card

RULE: Final = "secret_field"
"""The rule's name: masked because of what the field is called."""
MARKED: Final = f"[REDACTED:{RULE}]"

_NAMES: Final = (
    "name",
    "key",
    "header",
    "field",
    "label",
    "param",
    "variable",
    "id",
    "k",
    "question",
    "title",
    "header_name",
    "selector",
)
_VALUES: Final = (
    "value",
    "val",
    "v",
    "text",
    "content",
    "input",
    "answer",
    "data",
    "current",
    "default",
    "secret",
    "headervalue",
    "to",
    "new",
)
_INHERITED: Final = frozenset(
    [
        "value",
        "val",
        "raw",
        "plain",
        "plaintext",
        "data",
        "content",
        "text",
        "current",
        "old",
        "new",
        "secret",
        "default",
        "token",
        "key",
    ]
)
_MAPS: Final = re.compile(r"(?i)(?:secrets|credentials?|passwords|tokens|api_?keys)\Z")
_PRIVATE_JWK: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
"""RFC 7518: the private members of a JSON Web Key."""
_SCHEME: Final = re.compile(r"(?i)(?:bearer|basic|token|apikey|digest|key) \S")
_MAX_DEPTH: Final = 200

Masked = Callable[[str], str]
"""Masks a text."""


class Fields:
    """One walk over a value."""

    def __init__(self, text: Masked, cookies: Masked, count: Callable[[str], None], strength_of: Strengths) -> None:
        """Use these to mask texts and cookie headers; ``count`` is told the rule at each field that is masked whole."""
        self._strength_of = strength_of
        self._text = text
        self._cookies = cookies
        self._count = count

    def masked(self, value: Any, key: str = "", depth: int = 0) -> Any:
        """The value with what is secret in it masked; the same object where nothing is."""
        if isinstance(value, str):
            if value.isdigit() and is_identifier(key):
                return value
            return self._text(value) if len(value) > 3 else value
        if isinstance(value, (bool, float)) or value is None:
            return value
        if isinstance(value, int):
            return self._number(value, key)
        if depth > _MAX_DEPTH:
            raise RecursionError("nested too deep to be searched")
        fields = as_object(value)
        if fields is not None:
            return self._object(fields, key, depth)
        items = as_list(list(value) if isinstance(value, tuple) else value)
        return value if items is None else self._list(items, key, depth)

    def _number(self, value: int, key: str) -> Any:
        if not is_identifier(key) and 10**12 <= value < 10**19 and is_card(str(value)):
            return self._whole()
        return value

    def _object(self, fields: Mapping[str, Any], key: str, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        named = self._named_secret(fields)
        inside = bool(_MAPS.search(key))
        private = _PRIVATE_JWK if "kty" in fields else frozenset[str]()
        for name, value in fields.items():
            shown = name if not isinstance(name, str) or len(name) < 8 else self._text(name)
            while shown in out:  # two names that are masked to the same
                shown = f"{shown}#"
            if named is not None and str(name).lower() in _VALUES:
                out[shown] = self._field(named, value, depth)
            elif isinstance(value, str) and (name in private or (inside and looks_opaque(value))):
                out[shown] = self._whole()
            else:
                asked = key if self._strength_of(key) == "any" and str(name).lower() in _INHERITED else str(name)
                out[shown] = self._field(asked, value, depth)
        return out

    def _field(self, key: str, value: Any, depth: int) -> Any:
        strength = self._strength_of(key)
        if strength == "none" or isinstance(value, (bool, dict)) or value is None:
            return self.masked(value, key, depth + 1)
        items = as_list(value)
        if items is not None:
            return [self._field(key, item, depth + 1) for item in items]
        if isinstance(value, (int, float)):
            return self._whole() if strength != "opaque" and len(digits_of(str(value))) >= 3 else value
        return self._secret(key, value, strength) if isinstance(value, str) else self.masked(value, key, depth + 1)

    def _secret(self, key: str, value: str, strength: str) -> str:
        if is_placeholder(value) or is_marked(value):
            return value
        if "cookie" in key.lower():
            return self._cookies(value)
        masked = self._text(value)
        if masked != value and (is_marked(masked) or _SCHEME.match(masked) or "\n" in masked or len(masked) > 200):
            return masked
        if strength == "digits":
            return self._whole() if len(digits_of(value)) >= 3 else masked
        if strength == "opaque":
            return self._whole() if looks_opaque(value) else masked
        if is_location(value) or is_sentence(value):
            return masked
        scheme = _SCHEME.match(value)
        return value[: scheme.end() - 1] + self._whole() if scheme is not None else self._whole()

    def _list(self, items: list[Any], key: str, depth: int) -> list[Any]:
        out = [self.masked(item, key, depth + 1) for item in items]
        # ["authorization", "Bearer ..."], and headers one after the other in one flat list
        for place, (name, value) in enumerate(zip(items, items[1:], strict=False)):
            pair = isinstance(name, str) and isinstance(value, str) and len(name) < 64 and " " not in name
            headers = pair and (len(items) == 2 or (place % 2 == 0 and len(items) % 2 == 0))
            if pair and name.startswith("-") and not value.startswith("-") and self._strength_of(name) == "any":
                out[place + 1] = self._secret(name, value, "any")
            elif headers and self._strength_of(name) != "none":
                if looks_opaque(value.split(" ")[-1]) or _SCHEME.match(value) or "=" in value:
                    out[place + 1] = self._secret(name, value, self._strength_of(name))
        return out

    def _whole(self) -> str:
        self._count(RULE)
        return MARKED

    def _named_secret(self, fields: Mapping[str, Any]) -> str | None:
        """The name in an object that is a pair of name and value, where it is the name of a secret."""
        if len(fields) > 12:
            return None
        for name in fields:
            named = fields[name]
            if (
                isinstance(name, str)
                and (name.lower() in _NAMES or (name == "path" and "op" in fields))
                and isinstance(named, str)
                and self._strength_of(named) != "none"
            ):
                return named
        return None
