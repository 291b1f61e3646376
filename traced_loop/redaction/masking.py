"""What is looked for in which order: own credentials, what names itself, what a key names, personal data, layers.

The order matters: a rule sees what the ones before it left, and the surer ones come first.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object
from traced_loop.late_pattern import late_pattern
from traced_loop.redaction import json_fields, wrapped_text
from traced_loop.redaction.assigned_values import assigned_values, has_stem
from traced_loop.redaction.columns import secret_columns
from traced_loop.redaction.command_lines import command_rules
from traced_loop.redaction.credential_headers import basic_credentials, cookies
from traced_loop.redaction.key_blocks import key_blocks
from traced_loop.redaction.key_names import Strength, Strengths, may_hold_personal_key, strength_of
from traced_loop.redaction.labelled_numbers import labelled_dates, labelled_numbers
from traced_loop.redaction.markers import Found, beside_markers, merged, rewritten, veiled, without_markers
from traced_loop.redaction.named_shapes import named_rules
from traced_loop.redaction.own_secrets import OWN_RULE, OwnSecrets, own_places
from traced_loop.redaction.personal_data import account_finders, personal_finders
from traced_loop.redaction.personal_numbers import Numbers, has_number, number_names
from traced_loop.redaction.prose import prose_rules
from traced_loop.redaction.provider_keys import ProviderKeys, provider_names
from traced_loop.redaction.rule import Finder, Marked, RedactionRule, Searcher, lower
from traced_loop.redaction.url_credentials import url_credentials
from traced_loop.redaction.web_tokens import web_tokens

OWN: Final = OWN_RULE
"""The rule's name: a credential of this process."""
ASSIGNED: Final = "assigned_secret"
"""The rule's name: masked because of the key in front of it."""
ENCODED: Final = "encoded"
"""The rule's name: base64 of something that is masked."""
_COOKIE: Final = "cookie: "
_WORD: Final = late_pattern(r"[A-Za-z0-9_-]{4,64}\Z")
_WORD_SHAPES: Final = frozenset({"mailchimp_key", "azure_key", "ssh_key"})
"""Named shapes without a sign in them; the others cannot be in a word."""
_MAX_ROUNDS: Final = 8
"""The first finds all that is told by itself, the second mostly nothing; only made-up texts go on."""


@frozen_value
class RuleSet:
    """What one redactor looks for; made by ``rule_set``."""

    early: tuple[Searcher, ...]
    late: tuple[Searcher, ...]
    numeric: tuple[Searcher, ...]
    in_words: tuple[Searcher, ...]
    numbers: tuple[Searcher, ...]
    without: frozenset[str]
    named: Mapping[str, Strength]

    def strength_of(self, key: str) -> Strength:
        """How secret the values of this key are. The words in a marker are no part of its name."""
        key = without_markers(key)
        return self.named.get(_plain(key)) or strength_of(key) if self.named else strength_of(key)


def rule_set(
    *, add: tuple[RedactionRule, ...], without: frozenset[str], secret_keys: Collection[str], open_keys: Collection[str]
) -> RuleSet:
    """The built-in rules but those left out, and what was added."""
    opened: dict[str, Strength] = {_plain(key): "none" for key in open_keys}
    closed: dict[str, Strength] = {_plain(key): "any" for key in secret_keys}
    return RuleSet(
        early=(*add, *(s for s in _early(without) if s.name not in without)),
        late=tuple(s for s in _late() if s.name not in without),
        numeric=tuple(s for s in _numeric(without) if s.name not in without),
        numbers=tuple(s for s in _numbers(without) if s.name not in without),
        in_words=(*add, *(s for s in _in_words(without) if s.name not in without)),
        without=without,
        named=opened | closed,
    )


def _plain(key: str) -> str:
    return "".join(c for c in key.lower() if c.isalnum())


def _early(without: frozenset[str]) -> tuple[Searcher, ...]:
    """What names itself: key blocks, tokens, provider keys, URLs, command lines."""
    finders = (
        Finder(name="private_key", needles=("private key",), find=key_blocks),
        Finder(name="jwt", needles=("eyj",), find=web_tokens),
        Finder(name="url_credentials", needles=("://",), find=url_credentials),
        Finder(name="cookie", needles=("cookie",), find=cookies),
        Finder(name="basic_auth", needles=("basic",), find=basic_credentials),
    )
    return (*finders, ProviderKeys(without), *named_rules(), *command_rules(), *prose_rules())


def _late() -> tuple[Searcher, ...]:
    """Personal data: their shapes are weak, so they come after what names itself."""
    return (*personal_finders(), *labelled_dates())


def _numeric(without: frozenset[str]) -> tuple[Searcher, ...]:
    """The same where it takes a longer number."""
    return (*_numbers(without), *labelled_numbers())


def _numbers(without: frozenset[str]) -> tuple[Searcher, ...]:
    """Those of them that need no label."""
    return (*account_finders(), Numbers(without))


def _in_words(without: frozenset[str]) -> tuple[Searcher, ...]:
    """What can be found in one word of letters, digits, ``_`` and ``-``: spans hold ids, which are such words."""
    return (ProviderKeys(without), *(s for s in named_rules() if s.name in _WORD_SHAPES))


@cache
def built_in_names() -> tuple[str, ...]:
    """The names of the built-in rules, each once, in the order in which they are tried."""
    none = frozenset[str]()
    composite = {ProviderKeys.name, Numbers.name}
    names = [s.name for s in (*_early(none), *_late(), *_numeric(none)) if s.name not in composite]
    return tuple(dict.fromkeys([OWN, *names, *provider_names(), *number_names(), ASSIGNED, json_fields.RULE, ENCODED]))


@frozen_value
class _Gate:
    """What can be in a text at all: of a JSON value it is asked once, for all its strings."""

    early: Sequence[Searcher]
    assigned: bool
    late: Sequence[Searcher]
    own: tuple[str, ...]
    encoded: bool
    keys: bool

    @property
    def mute(self) -> bool:
        """Whether nothing can be found in a text that is no JSON."""
        return not (self.early or self.assigned or self.late or self.own or self.encoded)

    @property
    def idle(self) -> bool:
        """Whether nothing can be found at all."""
        return self.mute and not self.keys


class Masking:
    """One masking of one value, by the own secrets of this moment; ``counts`` is what it found, by rule."""

    def __init__(self, rules: RuleSet, own: OwnSecrets) -> None:
        self.counts: Found = {}
        self._rules = rules
        self._own = own

    def text(self, text: str) -> str:
        """The text, masked."""
        masked: str = self._settled(text, lambda given: self._masked(given, None, 0))
        return masked

    def value(self, value: Any) -> Any:
        """The JSON value, masked; the same object where nothing can be in it.

        Raises:
            RecursionError: it nests deeper than can be searched.
            ValueError: it contains itself.
        """
        return self._settled(value, lambda given: self._searched(given, 0))

    def places(self, text: str) -> list[Marked]:
        """What is found in a plain text, in its characters, from left to right."""
        gate, shown = self._gate(text), veiled(text)
        lowered = lower(shown)
        found = _marked((*gate.early, *gate.late), shown, lowered)
        found += self._by_key(shown, lowered) if gate.assigned else []
        return merged([*((*place, OWN) for place in own_places(text, gate.own)), *beside_markers(text, found)])

    def _settled(self, value: Any, mask: Callable[[Any], Any]) -> Any:
        """The value masked until no rule finds more: what was beside a masked part is free to be found."""
        for _ in range(_MAX_ROUNDS):
            before = sum(self.counts.values())
            value = mask(value)
            if sum(self.counts.values()) == before:
                break
        return value

    def _gate(self, text: str) -> _Gate:
        rules, lowered = self._rules, lower(text)
        if _WORD.match(text):
            return self._gate_of_word(text, lowered)
        late = (*rules.late, *rules.numeric) if has_number(lowered) else rules.late
        return _Gate(
            early=[s for s in rules.early if s.wanted(lowered)],
            assigned=ASSIGNED not in rules.without and has_stem(lowered),
            late=[s for s in late if s.wanted(lowered)],
            own=self._own.forms_in(text) if OWN not in rules.without else (),
            encoded=wrapped_text.may_be_encoded(text),
            keys=bool(rules.named) or may_hold_personal_key(lowered),
        )

    def _gate_of_word(self, text: str, lowered: str) -> _Gate:
        one_case = text == lowered or text.isupper()  # as every number of a person is written
        return _Gate(
            early=[s for s in self._rules.in_words if s.wanted(lowered)],
            assigned=False,
            late=[s for s in self._rules.numbers if s.wanted(lowered)] if one_case and has_number(lowered) else (),
            own=self._own.forms_in(text) if OWN not in self._rules.without else (),
            encoded=wrapped_text.may_be_encoded(text),
            keys=False,
        )

    def _masked(self, text: str, gate: _Gate | None, depth: int) -> str:
        """The text, masked; ``gate`` is that of a whole of which it is a part, where there is one."""
        escaped = "\\" in text  # an escape can hide from a gate what is in the parsed value
        gate = gate or (None if escaped else self._gate(text))
        if gate is not None and gate.idle and not escaped:
            return text
        if depth <= wrapped_text.MAX_DEPTH and (value := wrapped_text.parsed(text)) is not None:
            found = (
                self._searched(value, depth + 1) if escaped or gate is None else self._walked(value, gate, depth + 1)
            )
            return text if found == value else wrapped_text.written(found, text)
        gate = gate or self._gate(text)
        return text if gate.mute else self._masked_plain(text, gate, depth)

    def _searched(self, value: Any, depth: int) -> Any:
        whole = _all_text(value)
        gate = self._gate(whole)
        return value if gate.idle and "\\" not in whole else self._walked(value, gate, depth)

    def _masked_plain(self, text: str, gate: _Gate, depth: int) -> str:
        if gate.own:
            text = rewritten(text, [(*place, OWN) for place in own_places(text, gate.own)], self.counts)
        if gate.early:
            text = self._without(text, lambda shown, lowered: _marked(gate.early, shown, lowered))
        if gate.assigned:
            text = self._without(text, self._by_key)
        if gate.late:
            text = self._without(text, lambda shown, lowered: _marked(gate.late, shown, lowered))
        return self._unwrapped(text, depth) if gate.encoded and depth <= wrapped_text.MAX_DEPTH else text

    def _without(self, text: str, search: Callable[[str, str], list[Marked]]) -> str:
        shown = veiled(text)
        return rewritten(text, beside_markers(text, search(shown, lower(shown))), self.counts)

    def _by_key(self, text: str, lowered: str) -> list[Marked]:
        strength = self._rules.strength_of
        found = [(*place, ASSIGNED) for place in assigned_values(text, lowered, strength)]
        return found + [(*place, ASSIGNED) for place in secret_columns(text, lowered, strength)]

    def _walked(self, value: Any, gate: _Gate, depth: int) -> Any:
        strength: Strengths = _no_strength if json_fields.RULE in self._rules.without else self._rules.strength_of
        mute = gate.mute

        def masked(text: str) -> str:
            return text if mute and not wrapped_text.may_be_json(text) else self._masked(text, gate, depth)

        def cookie(text: str) -> str:
            header = _COOKIE + text
            return self._masked(header, None, depth).removeprefix(_COOKIE)

        return json_fields.Fields(text=masked, cookies=cookie, found=self._count, strength_of=strength).masked(value)

    def _count(self, rule: str) -> None:
        self.counts[rule] = self.counts.get(rule, 0) + 1

    def _unwrapped(self, text: str, depth: int) -> str:
        """What lies under base64 and percent-encoding is searched on its own: nothing of it was visible."""

        def hides(plain: str) -> bool:
            tried = Masking(self._rules, self._own)  # what it counts is masked as one block, and counted as that
            return tried._masked(plain, None, depth + 1) != plain

        def inner(plain: str) -> str:
            return self._masked(plain, None, depth + 1)

        blocks = [(*place, ENCODED) for place in wrapped_text.base64_hiding(text, hides)]
        text = rewritten(text, blocks, self.counts)
        return wrapped_text.decoded_percent(text, inner)


def _marked(searchers: Sequence[Searcher], text: str, lowered: str) -> list[Marked]:
    return [place for s in searchers if s.wanted(lowered) for place in s.marked(text, lowered)]


def _no_strength(key: str) -> Strength:
    del key
    return "none"


def _all_text(value: Any) -> str:
    """All that stands in a value as one text, to ask once what can be in it: raw, for no rule looks for escapes.

    Raises:
        RecursionError: it nests too deep.
        ValueError: it contains itself.
    """
    whole = json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)
    return "\n".join(_pieces(value)) if "\\" in whole else whole


def _pieces(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        node = left.pop()
        fields = as_object(node)
        if fields is not None:
            left += [*fields, *fields.values()]
        elif isinstance(node, (list, tuple)):
            left += node
        elif not isinstance(node, bool):
            yield str(node)
