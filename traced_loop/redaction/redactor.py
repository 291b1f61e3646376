"""Masking of credentials and personal data in text and JSON that is about to leave the process.

Only the found part is replaced, by ``[REDACTED:rule]``; masking twice changes nothing more. Time is proportional to the
text, whatever the text. A value on which the rules fail is masked whole, as ``[REDACTION_FAILED]``.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from traced_loop.errors import UsageError
from traced_loop.redaction import json_fields, wrapped_text
from traced_loop.redaction.assigned_values import assigned_values, has_stem
from traced_loop.redaction.columns import secret_columns
from traced_loop.redaction.command_lines import command_rules
from traced_loop.redaction.key_names import Strength, Strengths, may_hold_personal_key, strength_of
from traced_loop.redaction.labelled_numbers import labelled_dates, labelled_numbers
from traced_loop.redaction.own_secrets import own_secrets
from traced_loop.redaction.personal_data import account_finders, personal_finders
from traced_loop.redaction.personal_numbers import Numbers, has_number, number_names
from traced_loop.redaction.prose import prose_rules
from traced_loop.redaction.provider_keys import ProviderKeys, provider_names
from traced_loop.redaction.rule import Marked, RedactionRule, Searcher, lower
from traced_loop.redaction.seen_texts import Seen, SeenTexts
from traced_loop.redaction.transport_shapes import transport_finders, transport_rules

FAILED: Final = "[REDACTION_FAILED]"
"""Stands for the whole value when masking it raised: a value is never passed on unmasked."""

Found = dict[str, int]
"""How often each rule masked something, by the rule's name."""


OWN: Final = "own_credential"
"""The rule's name: a credential of this process."""
ASSIGNED: Final = "assigned_secret"
"""The rule's name: masked because of the key in front of it."""
ENCODED: Final = "encoded"
"""The rule's name: base64 of something that is masked."""
MIN_LENGTH: Final = 4
"""Shorter texts hold nothing that could be told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One masked place of a text, in characters of that text."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Gate:
    """What can be in a text at all: of a JSON value it is asked once, for all its strings."""

    early: Sequence[Searcher]
    assigned: bool
    late: Sequence[Searcher]
    secrets: Sequence[str]
    encoded: bool
    keys: bool

    @property
    def mute(self) -> bool:
        """Whether nothing can be found in a text that is no JSON."""
        return not (self.early or self.assigned or self.late or self.secrets or self.encoded)

    @property
    def idle(self) -> bool:
        """Whether nothing can be found at all."""
        return self.mute and not self.keys


class Redactor:
    """Rules, compiled. Safe in threads; holds of the texts only hashes and what was masked."""

    def __init__(
        self,
        *,
        add: Iterable[RedactionRule] = (),
        without: Collection[str] = (),
        secret_keys: Collection[str] = (),
        open_keys: Collection[str] = (),
    ) -> None:
        """Use the built-in rules, and these.

        Args:
            add: further rules, tried first.
            without: names of built-in rules to leave out, of ``rule_names``.
            secret_keys: further names of fields whose values are masked whatever they are.
            open_keys: names of fields that are no secrets, though they sound like one.

        Raises:
            UsageError: ``without`` names no rule.
        """
        chosen = frozenset(without)
        unknown = chosen - set(rule_names())
        if unknown:
            raise UsageError(
                f"no redaction rule is called {', '.join(sorted(unknown))}: see `traced-loop redact --rules`"
            )
        self._early = (*add, *(s for s in _early(chosen) if s.name not in chosen))
        self._late = tuple(s for s in _late() if s.name not in chosen)
        self._numeric = tuple(s for s in _numeric(chosen) if s.name not in chosen)
        self._without = chosen
        self._named: dict[str, Strength] = {_plain(k): "none" for k in open_keys} | {
            _plain(k): "any" for k in secret_keys
        }
        self._seen = SeenTexts()
        self._secrets: tuple[str, ...] = ()

    def text(self, text: str, found: Found | None = None) -> str:
        """The text with every found credential and personal datum masked; the same object where there is none.

        Never raises: a text on which the rules fail becomes ``[REDACTION_FAILED]``.

        Args:
            text: any text; one that is JSON is masked inside and stays JSON.
            found: counts are added to it.
        """
        if len(text) < MIN_LENGTH:
            return text
        if self._secrets is not own_secrets():
            self._secrets = own_secrets()
            self._seen.clear()
        seen = self._seen.get(text)
        if seen is None:
            seen = self._search(text)
            self._seen.put(text, seen)
        if found is not None:
            for name, count in seen[1]:
                found[name] = found.get(name, 0) + count
        return text if seen[0] is None else seen[0]

    def value(self, value: Any, found: Found | None = None) -> Any:
        """The JSON value with what is secret in it masked: by the names of its fields, and in its texts.

        A tuple becomes a list; what is no JSON is left as it is. Never raises: see ``text``.
        """
        if isinstance(value, str):
            return self.text(value, found)
        counts: Found = {} if found is None else found
        try:
            whole = _all_text(value)
            gate = self._gate(whole)
            return value if gate.idle and "\\" not in whole else self._walk(value, gate, 0, counts)
        except Exception:  # noqa: BLE001 - whatever went wrong, the value must not pass unmasked
            return FAILED

    def findings(self, text: str) -> list[Finding]:
        """What is masked in a plain text by shape, place by place, to try rules out. Layers inside are not opened."""
        lowered, gate = lower(text), self._gate(text)
        places = [m for searcher in (*gate.early, *gate.late) for m in searcher.marked(text, lowered)]
        places += self._by_key(text, lowered) if gate.assigned else []
        return [Finding(rule=name, start=start, end=end) for start, end, name in _merged(places)]

    def _search(self, text: str) -> Seen:
        counts: Found = {}
        try:
            masked = self._mask(text, self._gate(text), 0, counts)
        except Exception:  # noqa: BLE001 - whatever went wrong, the value must not pass unmasked
            return FAILED, ()
        return None if masked == text else masked, tuple(counts.items())

    def _gate(self, text: str) -> _Gate:
        lowered = lower(text)
        return _Gate(
            early=[s for s in self._early if s.wanted(lowered)],
            assigned=ASSIGNED not in self._without and has_stem(lowered),
            late=[s for s in (*self._late, *(self._numeric if has_number(lowered) else ())) if s.wanted(lowered)],
            secrets=[s for s in self._secrets if s in text] if OWN not in self._without else [],
            encoded=wrapped_text.may_be_encoded(text),
            keys=bool(self._named) or may_hold_personal_key(lowered),
        )

    def _mask(self, text: str, gate: _Gate, depth: int, counts: Found) -> str:
        if gate.idle and "\\" not in text:
            return text
        if depth <= wrapped_text.MAX_DEPTH and (value := wrapped_text.parsed(text)) is not None:
            walked = self._walk(value, self._gate(_all_text(value)) if "\\" in text else gate, depth + 1, counts)
            return text if walked == value else wrapped_text.written(walked, text)
        if gate.idle:
            return text
        for secret in gate.secrets:
            counts[OWN] = counts.get(OWN, 0) + text.count(secret)
            text = text.replace(secret, f"[REDACTED:{OWN}]")
        lowered = lower(text)
        found = [m for s in gate.early if s.wanted(lowered) for m in s.marked(text, lowered)]
        text, lowered = _rewritten(text, lowered, found, counts)
        text, lowered = _rewritten(text, lowered, self._by_key(text, lowered) if gate.assigned else [], counts)
        found = [m for s in gate.late if s.wanted(lowered) for m in s.marked(text, lowered)]
        text, lowered = _rewritten(text, lowered, found, counts)
        return self._unwrapped(text, depth, counts) if gate.encoded and depth <= wrapped_text.MAX_DEPTH else text

    def _by_key(self, text: str, lowered: str) -> list[Marked]:
        found = [(*place, ASSIGNED) for place in assigned_values(text, lowered, self._strength_of)]
        return found + [(*place, ASSIGNED) for place in secret_columns(text, lowered, self._strength_of)]

    def _walk(self, value: Any, gate: _Gate, depth: int, counts: Found) -> Any:
        strength: Strengths = _no_strength if json_fields.RULE in self._without else self._strength_of

        def count(name: str) -> None:
            counts[name] = counts.get(name, 0) + 1

        mute = gate.mute

        def masked(text: str) -> str:
            return text if mute and text[0] not in "{[ \n" else self._mask(text, gate, depth, counts)

        def cookie(text: str) -> str:
            return self._mask(f"cookie: {text}", self._gate(f"cookie: {text}"), depth, counts).removeprefix("cookie: ")

        return json_fields.Fields(masked, cookie, count, strength).masked(value)

    def _unwrapped(self, text: str, depth: int, counts: Found) -> str:
        """What lies under base64 and percent-encoding is searched on its own: nothing of it was visible."""

        def inner(plain: str) -> str:
            return self._mask(plain, self._gate(plain), depth + 1, counts)

        blocks = wrapped_text.decoded_base64(text, lambda plain: self._mask(plain, self._gate(plain), depth + 1, {}))
        text, _ = _rewritten(text, text, [(*place, ENCODED) for place in blocks], counts)
        return wrapped_text.decoded_percent(text, inner)

    def _strength_of(self, key: str) -> Strength:
        return self._named.get(_plain(key)) or strength_of(key) if self._named else strength_of(key)


def _early(without: Collection[str]) -> tuple[Searcher, ...]:
    """What names itself: key blocks, tokens, provider keys, URLs, command lines."""
    return (*transport_finders(), ProviderKeys(without), *transport_rules(), *command_rules(), *prose_rules())


def _late() -> tuple[Searcher, ...]:
    """Personal data: their shapes are weak, so they come after what names itself."""
    return (*personal_finders(), *labelled_dates())


def _numeric(without: Collection[str]) -> tuple[Searcher, ...]:
    """The same where it takes a longer number."""
    return (*account_finders(), Numbers(without), *labelled_numbers())


def rule_names() -> tuple[str, ...]:
    """The names of the built-in rules, each once, in the order in which they are tried."""
    composite = {"provider_key", "number"}
    names = [s.name for s in (*_early(()), *_late(), *_numeric(())) if s.name not in composite]
    return tuple(dict.fromkeys([OWN, *names, *provider_names(), *number_names(), ASSIGNED, json_fields.RULE, ENCODED]))


@cache
def default_redactor() -> Redactor:
    """The built-in rules; made when first used."""
    return Redactor()


def redact(value: Any) -> Any:
    """A text or JSON value with secrets and personal data masked: a text in, a text out; a value in, a value out.

    Masked parts read ``[REDACTED:rule]``. Masking twice changes nothing more. Never raises: a value on which the rules
    fail becomes ``[REDACTION_FAILED]``.
    """
    return default_redactor().value(value)


def redact_text(text: str) -> str:
    """The text with secrets and personal data masked by the built-in rules."""
    return default_redactor().text(text)


def _plain(key: str) -> str:
    return "".join(c for c in key.lower() if c.isalnum())


def _no_strength(key: str) -> Strength:
    del key
    return "none"


def _all_text(value: Any) -> str:
    """All strings of a value in one text, to ask once what can be in it."""
    return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)


def _merged(places: list[Marked]) -> list[Marked]:
    """From left to right, overlapping ones as one, under the name of the longest."""
    merged: list[Marked] = []
    for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
        if merged and start < merged[-1][1]:
            first, last, other = merged[-1]
            longest = name if end - start > last - first else other
            merged[-1] = (first, max(last, end), longest)
        else:
            merged.append((start, end, name))
    return merged


def _rewritten(text: str, lowered: str, places: list[Marked], counts: Found) -> tuple[str, str]:
    """The text with these places masked, and the same in lower case."""
    if not places:
        return text, lowered
    parts: list[str] = []
    at = 0
    for start, end, name in _merged(places):
        parts += [text[at:start], f"[REDACTED:{name}]"]
        counts[name] = counts.get(name, 0) + 1
        at = end
    masked = "".join([*parts, text[at:]])
    return masked, lower(masked)
