"""Time is proportional to the text, whatever the text: repeats of what the rules begin with, and of what is near."""

import os
import random
from collections.abc import Callable
from itertools import product

import pytest

from traced_loop.redaction import Redactor, labelled_numbers, masking, own_secrets
from traced_loop.redaction.assigned_values import STEMS
from traced_loop.redaction.provider_keys import prefixes
from traced_loop.redaction.rule import Finder, RedactionRule

from ..processor_time import LINEAR, growth

NIGHTLY = bool(os.environ.get("TRACED_LOOP_NIGHTLY"))
SMALL = 4_096
BEHIND = (
    *("", ": ", " = ", '="', "\n", " a", "=1&", "-1", " 1", "%41", ":x@", "'", "\\", '{"', "(", "[", "A1b2C3d4", ": '"),
    *('": {"', "|", ",", "\t"),
)
ALONE = (
    *("1 ", "12 ", "123-", "1234 ", "12-34-56-", "a@", "@b.", "a.b@c.", "1.1.", "a:", "::", "aa11", "GB11 1111 "),
    *("+1 (", "AbCd1", "A1", "eyJ", "eyJa.", "%3D", "%", "\\u0041", "//", "/", "-", "--", "{", "[", '"', "a=1;", "="),
    *("cookie: a=b; ", "<password>", "<input ", "https://", "bearer ", "curl -u ", "echo ", "\n\t", "|a|", "a,b\n"),
    *(
        "password,b\n",
        "1,2\n",
        "==",
        "Z" * 50 + " ",
        "zA9" * 30 + "\n",
        "ghp_\n",
        "sk-a1B\n",
        "[REDACTED:email]",
        "[RED",
    ),
)


def beginnings() -> list[str]:
    """What rules look for before they look closer."""
    rules = masking.rule_set(add=(), without=frozenset(), secret_keys=(), open_keys=())
    needles = {
        needle
        for searcher in (*rules.early, *rules.late, *rules.numeric)
        if isinstance(searcher, (RedactionRule, Finder))
        for needle in searcher.needles
    }
    return sorted({*STEMS, *labelled_numbers.LABELS, *prefixes(), *needles})


SEEDS = [begin + behind for begin, behind in product(beginnings(), BEHIND)]
CHOSEN = [*ALONE, *(SEEDS if NIGHTLY else random.Random(2026).sample(SEEDS, 90))]


def redacting(seed: str) -> Callable[[int], Callable[[], object]]:
    """Masking a text of a size that repeats the seed."""
    redactor = Redactor()

    def prepare(size: int) -> Callable[[], object]:
        text = (seed * (size // len(seed) + 1))[:size]

        def act() -> str:
            own_secrets._known = own_secrets.OwnSecrets()  # another object: nothing is known from the last time
            return redactor.text(text)

        return act

    return prepare


@pytest.mark.parametrize("part", range(0, len(CHOSEN), 50))
def test_the_time_is_in_proportion_to_the_text(part: int) -> None:
    """For each text."""
    grown = {seed: growth(redacting(seed), SMALL) for seed in CHOSEN[part : part + 50]}
    assert {seed: times for seed, times in grown.items() if times >= LINEAR} == {}
