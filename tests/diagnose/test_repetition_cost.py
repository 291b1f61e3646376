"""A repetition cost the requests of the steps that repeated something."""

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

    found = with_cost(run, FOUND, [2, 3], "")
    blind = with_cost(
        replace(run, requests=[replace(request, cost_usd=None, price=None) for request in run.requests]),
        FOUND,
        [2, 3],
        "",
    )

    assert (found.cost_tokens, found.cost_usd) == (200 + 300 + 20, Decimal(5))
    assert found.numbers == {"occurrences": 3, "requests": 2, "cost_usd": Decimal(5)}
    assert (blind.cost_tokens, blind.cost_usd) == (520, None)


def test_what_repeated_in_no_step_costs_nothing() -> None:
    """Two calls of one answer, or the steps of another agent."""
    run = run_of([counted(100, 10)], {1: [1, 1]})

    assert with_cost(run, FOUND, [], "").cost_tokens is None
    assert with_cost(run, FOUND, [1], "other").cost_tokens is None
