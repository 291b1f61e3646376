"""Secrets in JSON values: a field's name tells what its value is, also in pairs of name and value."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count, pairwise
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object
from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.check_digits import digits_of
from traced_loop.redaction.key_names import Strength, Strengths, is_identifier
from traced_loop.redaction.markers import has_marker, is_marked, marker, without_markers
from traced_loop.redaction.opaque import fits, is_location, is_placeholder, is_sentence, looks_opaque
from traced_loop.redaction.personal_numbers import is_card
from traced_loop.redaction.word_lists import words

RULE: Final = "secret_field"
"""The rule's name: masked because of what the field is called."""

_NAMES: Final = words("name key header field label param variable id k question title header_name selector")
"""In an object that is a pair of name and value: the fields that hold the name."""
_VALUES: Final = words("value val v text content input answer data current default secret headervalue to new")
"""And those that hold the value."""
_MAX_PAIR: Final = 12
"""Fields of an object that is still read as one pair."""
_INHERITED: Final = words("value val raw plain plaintext data content text current old new secret default token key")
"""Fields that say nothing by themselves: in ``{"password": {"value": ...}}`` the outer name counts."""
_MAPS: Final = late_pattern(r"(?i)(?:secrets|credentials?|passwords|tokens|api_?keys)\Z")
"""Objects that map names of their own to secrets."""
_PRIVATE_JWK: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
"""RFC 7518: the private members of a JSON Web Key."""
_SCHEME: Final = late_pattern(r"(?i)(?:bearer|basic|token|apikey|digest|key) \S")
_PLURAL: Final = late_pattern(r"(?i)(?:token|key|code|secret)s\Z")
"""A number of them is a count."""
_MAX_DEPTH: Final = 200
_MIN_TEXT: Final = 4
_MIN_KEY: Final = 8
_MAX_NAME: Final = 63
_MIN_DIGITS: Final = 3
_LONG: Final = 200
"""A longer value of which a part was masked keeps its rest: it is a document rather than a credential."""


class Fields:
    """One walk over a value."""

    def __init__(
        self,
        *,
        text: Callable[[str], str],
        cookies: Callable[[str], str],
        found: Callable[[str], None],
        strength_of: Strengths,
    ) -> None:
        """Use these to mask texts and cookie headers; ``found`` is told the rule at each field that is masked whole."""
        self._strength_of = strength_of
        self._text = text
        self._cookies = cookies
        self._found = found

    def masked(self, value: Any, key: str = "", depth: int = 0) -> Any:
        """The value with what is secret in it masked.

        Raises:
            RecursionError: it nests deeper than 200.
        """
        if isinstance(value, str):
            if len(value) < _MIN_TEXT or (value.isdigit() and is_identifier(key)):
                return value
            return self._text(value)
        if isinstance(value, (bool, float)) or value is None:
            return value
        if isinstance(value, int):
            is_secret = 10**12 <= value < 10**19 and not is_identifier(key) and is_card(str(value))
            return self._whole() if is_secret else value
        return self._container(value, key, depth)

    def _container(self, value: Any, key: str, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise RecursionError("nested too deep to be searched")
        fields = as_object(value)
        if fields is not None:
            return self._object(fields, key, depth)
        if isinstance(value, tuple):
            return tuple(self._list([*value], key, depth))
        items = as_list(value)
        return value if items is None else self._list(items, key, depth)

    def _object(self, fields: Mapping[Any, Any], key: str, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        named = self._named_secret(fields)
        maps = bool(_MAPS.search(key))
        outer = self._strength_of(key) == "any"
        private = _PRIVATE_JWK if "kty" in fields else frozenset[str]()
        for name, value in fields.items():
            shown = self._free_key(name, out)
            plain = without_markers(str(shown))  # of a name that was masked, what is left counts
            if named is not None and plain.lower() in _VALUES and _answers(named, value):
                out[shown] = self._field(named, value, depth)
            elif isinstance(value, str) and (name in private or (maps and looks_opaque(value))):
                out[shown] = self._whole()
            else:
                out[shown] = self._field(key if outer and plain.lower() in _INHERITED else plain, value, depth)
        return out

    def _free_key(self, name: Any, taken: Mapping[Any, Any]) -> Any:
        """The key, masked. Where two are masked to the same, a number keeps them apart, and no field is lost."""
        shown = self._text(name) if isinstance(name, str) and len(name) >= _MIN_KEY else name
        if shown not in taken:
            return shown
        return next(free for n in count(len(taken)) if (free := f"{shown}#{n}") not in taken)

    def _field(self, key: str, value: Any, depth: int) -> Any:
        strength = self._strength_of(key)
        if strength == "none" or isinstance(value, (bool, dict)) or value is None:
            return self.masked(value, key, depth + 1)
        items = as_list(value)
        if items is not None:
            if depth > _MAX_DEPTH:
                raise RecursionError("nested too deep to be searched")
            return [self._field(key, item, depth + 1) for item in items]
        if isinstance(value, (int, float)):
            # Many a count is named like a token: only where the name leaves no doubt is a number one.
            sure = strength == "digits" or (strength == "any" and not _PLURAL.search(key))
            return self._whole() if sure and _has_digits(str(value)) else value
        return self._secret(key, value, strength) if isinstance(value, str) else self.masked(value, key, depth + 1)

    def _secret(self, key: str, value: str, strength: Strength) -> str:
        if is_placeholder(value) or is_marked(value):
            return value
        if "cookie" in key.lower():
            return self._cookies(value)
        masked = self._text(value)
        if has_marker(masked) and (is_marked(masked) or _SCHEME.match(masked) or "\n" in masked or len(masked) > _LONG):
            return masked
        # From here on what the rules left is judged, so that it is judged the same when it comes again.
        left = without_markers(masked)
        if strength == "digits":
            return self._whole() if _has_digits(left) else masked
        if strength in ("opaque", "random"):
            return self._whole() if fits(strength, left) else masked
        if is_location(masked) or is_sentence(masked):
            return masked
        scheme = _SCHEME.match(masked)
        return masked[: scheme.end() - 1] + self._whole() if scheme is not None else self._whole()

    def _list(self, items: list[Any], key: str, depth: int) -> list[Any]:
        out = [self.masked(item, key, depth + 1) for item in items]
        for place, name, value in self._pairs_in(items):
            out[place] = self._secret(name, value, self._strength_of(name))
        return out

    def _pairs_in(self, items: list[Any]) -> Iterator[tuple[int, str, str]]:
        """Where a list holds a secret behind its name, with both: ``["--password", "..."]``, headers in a flat list."""
        even = len(items) % 2 == 0
        for place, (name, value) in enumerate(pairwise(items)):
            if not (isinstance(name, str) and isinstance(value, str)) or len(name) > _MAX_NAME or " " in name:
                continue
            strength = self._strength_of(name)
            flag = strength == "any" and name.startswith("-") and not value.startswith("-")
            header = strength != "none" and even and place % 2 == 0 and _is_header_value(value)
            if flag or header:
                yield place + 1, name, value

    def _whole(self) -> str:
        self._found(RULE)
        return marker(RULE)

    def _named_secret(self, fields: Mapping[Any, Any]) -> str | None:
        """The name in an object that is a pair of name and value, where it is the name of a secret."""
        if len(fields) > _MAX_PAIR:
            return None
        for field, named in fields.items():
            names = isinstance(field, str) and (field.lower() in _NAMES or (field == "path" and "op" in fields))
            if names and isinstance(named, str) and self._strength_of(named) != "none":
                return named
        return None


def _answers(named: str, value: Any) -> bool:
    """Whether the value of a pair can be the secret that it names: a question is answered in prose as well."""
    return " " not in named or not isinstance(value, str) or any(c.isdigit() for c in value)


def _has_digits(value: str) -> bool:
    return len(digits_of(value)) >= _MIN_DIGITS


def _is_header_value(value: str) -> bool:
    return "=" in value or bool(_SCHEME.match(value)) or looks_opaque(value.split(" ")[-1])
