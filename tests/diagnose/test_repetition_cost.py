"""A repetition cost the requests after its first occurrence, up to the one that completed it."""

from dataclasses import replace
from decimal import Decimal

from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.repetition_cost import with_cost

from .test_token_books import counted, run_of

FOUND = Finding(
    kind=FindingKind.REPETITION, severity=Severity.ERROR, title="", calls=(0, 2), numbers={"occurrences": 3}
)


def test_a_repetition_has_the_cost_of_its_requests() -> None:
    """Tokens and USD of steps 2 and 3; of an unknown price only the tokens."""
    requests = [counted(100 * n, 10, cost_usd=Decimal(n)) for n in range(1, 5)]
    run = run_of(requests, {1: [1], 2: [1], 3: [1]})

    found = with_cost(run, FOUND)
    blind = with_cost(replace(run, requests=[replace(request, cost_usd=None) for request in run.requests]), FOUND)

    assert (found.cost_tokens, found.cost_usd) == (200 + 300 + 20, Decimal(5))
    assert found.numbers == {"occurrences": 3, "requests": 2}
    assert (blind.cost_tokens, blind.cost_usd) == (520, None)


def test_one_known_occurrence_costs_nothing() -> None:
    """Nor do two calls of one answer."""
    run = run_of([counted(100, 10)], {1: [1, 1]})

    assert with_cost(run, replace(FOUND, calls=(0,))).cost_tokens is None
    assert with_cost(run, replace(FOUND, calls=(0, 1))).cost_tokens is None
