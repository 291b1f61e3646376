"""What follows from each kind of failed request stands in one table."""

from __future__ import annotations

import pytest

from traced_loop.closed_words import ModelErrorKind
from traced_loop.rules.model_error_kinds import KIND_RULES, kind_of_status


def test_every_kind_has_its_rule_and_an_advice_of_its_own_words() -> None:
    """A kind without one would be a silence in the post-mortem."""
    assert set(KIND_RULES) == set(ModelErrorKind)
    assert all(rule.advice and "\n" not in rule.advice for rule in KIND_RULES.values())


@pytest.mark.parametrize(
    ("kind", "again", "elsewhere"),
    [
        (ModelErrorKind.RATE_LIMITED, True, True),
        (ModelErrorKind.QUOTA_EXHAUSTED, False, True),
        (ModelErrorKind.OVERLOADED, True, True),
        (ModelErrorKind.TOOL_USE_FAILED, True, True),
        (ModelErrorKind.AUTH, False, True),
        (ModelErrorKind.NOT_FOUND, False, True),
        (ModelErrorKind.CONTEXT_TOO_LONG, False, False),
        (ModelErrorKind.INVALID_REQUEST, False, False),
        (ModelErrorKind.CONTENT_FILTERED, False, False),
    ],
)
def test_a_kind_says_whether_another_try_or_another_model_may_help(
    kind: ModelErrorKind, again: bool, elsewhere: bool
) -> None:
    """What is wrong with the request itself is wrong everywhere; what a filter refused is not taken elsewhere."""
    rule = KIND_RULES[kind]
    assert (rule.again, rule.elsewhere) == (again, elsewhere)


@pytest.mark.parametrize("status", [*range(100, 600), 999])
def test_every_status_has_a_kind(status: int) -> None:
    """A server error may pass, a refusal does not; what nobody knows is called so."""
    kind = kind_of_status(status)
    assert KIND_RULES[kind].again or status < 500
    assert kind is not ModelErrorKind.OTHER or status < 300 or 400 < status < 500
