"""Masking of credentials and personal data in text and JSON that is about to leave the process.

Only the found part is replaced, by ``[REDACTED:rule]``; masking twice changes nothing more. Time is proportional to the
text, whatever the text. A value on which the rules fail is masked whole, as ``[REDACTION_FAILED]``.
"""

from collections.abc import Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.redaction.markers import FAILED, Found
from traced_loop.redaction.own_secrets import OwnSecrets, own_secrets
from traced_loop.redaction.rule import RedactionRule
from traced_loop.redaction.seen_texts import Seen, SeenTexts

if TYPE_CHECKING:
    from traced_loop.redaction.masking import Masking

_MAX_BITS: Final = 64
"""A larger number is none of a card, and may have more digits than Python writes."""
MIN_LENGTH: Final = 4
"""Shorter texts hold nothing that could be told."""


@frozen_value
class Finding:
    """One masked place of a text, in characters of that text."""

    rule: str
    start: int
    end: int


class Redactor:
    """Rules. Safe in threads; holds of the texts only hashes and what was masked."""

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
            add: further rules, tried before the built-in ones.
            without: names of built-in rules to leave out, of ``rule_names``.
            secret_keys: further names of fields whose values are masked whatever they are.
            open_keys: names of fields that are no secrets, though they sound like one.

        Raises:
            UsageError: ``without`` names no rule.
        """
        from traced_loop.redaction.masking import rule_set  # here: it takes 10 ms to import

        unknown = set(without) - set(rule_names()) if without else None
        if unknown:
            raise UsageError(
                f"no redaction rule is called {', '.join(sorted(unknown))}: see `traced-loop redact --rules`"
            )
        self._rules = rule_set(add=tuple(add), without=frozenset(without), secret_keys=secret_keys, open_keys=open_keys)
        self._seen = SeenTexts()

    def text(self, text: str, found: Found | None = None) -> str:
        """The text with every found credential and personal datum masked; the same object where there is none.

        A text that is a JSON object, array or string is masked inside and stays JSON, unless it nests deeper than 200.
        Never raises: a text on which the rules fail becomes ``[REDACTION_FAILED]``.

        Args:
            text: any text.
            found: the counts of what was masked are added to it.
        """
        if len(text) < MIN_LENGTH:
            return text
        own = own_secrets()
        seen = self._seen.get(text, own)
        if seen is None:
            seen = self._searched(text, own)
            self._seen.put(text, own, seen)
        _add_counts(found, seen[1])
        return text if seen[0] is None else seen[0]

    def value(self, value: Any, found: Found | None = None) -> Any:
        """The JSON value with what is secret in it masked: by the names of its fields, and in its texts.

        The kind stays: a tuple stays a tuple, a mapping becomes a dict, and what is no JSON is left as it is. Never
        raises: a value on which the rules fail, one that nests deeper than 200 among them, becomes
        ``[REDACTION_FAILED]``.
        """
        if isinstance(value, str):
            return self.text(value, found)
        if value is None or isinstance(value, (bool, float)):
            return value
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            return value
        masking = self._masking(own_secrets())
        try:
            masked = masking.value(value)
        except Exception:  # noqa: BLE001 - whatever went wrong, the value must not pass unmasked
            return FAILED
        _add_counts(found, masking.counts.items())
        return masked

    def findings(self, text: str) -> list[Finding]:
        """What is masked in a plain text, place by place, to try rules out. Layers inside it are not opened."""
        places = self._masking(own_secrets()).places(text)
        return [Finding(rule=name, start=start, end=end) for start, end, name in places]

    def _searched(self, text: str, own: OwnSecrets) -> Seen:
        masking = self._masking(own)
        try:
            masked = masking.text(text)
        except Exception:  # noqa: BLE001 - whatever went wrong, the value must not pass unmasked
            return FAILED, ()
        return None if masked == text else masked, tuple(masking.counts.items())

    def _masking(self, own: OwnSecrets) -> "Masking":
        from traced_loop.redaction.masking import Masking

        return Masking(self._rules, own)


def _add_counts(found: Found | None, counts: Iterable[tuple[str, int]]) -> None:
    if found is not None:
        for name, count in counts:
            found[name] = found.get(name, 0) + count


def rule_names() -> tuple[str, ...]:
    """The names of the built-in rules, each once, in the order in which they are tried."""
    from traced_loop.redaction.masking import built_in_names

    return built_in_names()


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
