"""A price that is declared for a stored run says what its trace does not, and changes nothing that it says."""

from __future__ import annotations

from decimal import Decimal

from traced_loop import Price
from traced_loop.diagnose.declared_prices import with_prices
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import FindingKind
from traced_loop.diagnose.whatif import what_if
from traced_loop.read.agent_run import AgentRun, Gap, StoredRequest
from traced_loop.read.trace import StoredTrace
from traced_loop.rules.budget import Budget

PRICE = Price(input=1, output=4)


def run_of(*requests: StoredRequest) -> AgentRun:
    """A run of these requests whose trace knows not all costs."""
    return AgentRun(
        id="r", dialect="traced_loop", trace=StoredTrace(), requests=requests, gaps=frozenset({Gap.NO_PRICES})
    )


def counted(step: int, model: str = "m", **more: object) -> StoredRequest:
    """A request of 1,000 tokens in and 100 out."""
    fields: dict[str, object] = {"model": model, "input_tokens": 1_000, "output_tokens": 100, **more}
    return StoredRequest(step=step, **fields)  # type: ignore[arg-type]


def test_an_unknown_cost_is_known_with_a_price() -> None:
    """The diagnosis has a cost, and no finding that it lacks one; limits on cost can be asked."""
    run = run_of(counted(1), counted(2))
    priced = with_prices(run, {"": PRICE})

    blind, seen = diagnose(run), diagnose(priced)

    assert (blind.cost_usd, seen.cost_usd) == (None, Decimal("0.0028"))
    assert FindingKind.UNPRICED in {finding.kind for finding in blind.findings}
    assert FindingKind.UNPRICED not in {finding.kind for finding in seen.findings}
    assert (Gap.NO_PRICES in seen.gaps, what_if(priced, Budget(cost_usd=1, seconds=None)).untold) == (False, ())


def test_what_the_trace_says_stays_and_each_model_has_its_own() -> None:
    """By the model that answered; one that nobody priced stays unknown, as do tokens that nobody counted."""
    run = run_of(
        counted(1, cost_usd=Decimal("0.5")),
        counted(2, "m", response_model="other"),
        counted(3, "unknown"),
        StoredRequest(step=4, model="other"),
    )

    found = with_prices(run, {"other": PRICE})

    assert [request.cost_usd for request in found.requests] == [Decimal("0.5"), Decimal("0.0014"), None, None]
    assert Gap.NO_PRICES in found.gaps


def test_no_price_changes_nothing() -> None:
    """It is the same run."""
    run = run_of(counted(1))

    assert with_prices(run, {}) is run
