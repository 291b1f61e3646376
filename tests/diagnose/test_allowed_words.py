"""What may stand in a trace is what the package's own lists say."""

from traced_loop import closed_words, names, outcomes
from traced_loop.diagnose.allowed_words import (
    ALLOWED_LISTS,
    ALLOWED_WORDS,
    KNOWN_KEYS,
    KNOWN_PREFIXES,
    KNOWN_SPANS,
    NAMED_SPANS,
)


def test_every_list_of_words_is_one_of_the_closed_lists() -> None:
    """By way of the types, so that a word that is added there is known here."""
    assert ALLOWED_WORDS[names.RUN_STOP_REASON] == {str(word) for word in outcomes.StopReason}
    assert ALLOWED_WORDS[names.EFFECT] == {"read", "write"}
    assert ALLOWED_LISTS[names.ANOMALIES] == {str(word) for word in closed_words.Anomaly}
    assert all(ALLOWED_WORDS.values())


def test_keys_and_span_names_are_those_of_the_names_module() -> None:
    """Prefixes stand for the keys that are made from them."""
    assert names.RUN_ID in KNOWN_KEYS
    assert names.STEP in KNOWN_SPANS
    assert names.CHAT in NAMED_SPANS
    assert f"{names.BUDGET_PREFIX}steps.limit".startswith(KNOWN_PREFIXES)
    assert not f"{names.SCOPE}.anything".startswith(KNOWN_PREFIXES)
    assert set(ALLOWED_WORDS) <= KNOWN_KEYS
