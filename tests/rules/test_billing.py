"""What a request is charged over all its tries."""

from dataclasses import replace
from decimal import Decimal

from traced_loop import Price
from traced_loop.messages import ModelAnswer, TokenUsage
from traced_loop.rules.billing import bill, known_usage
from traced_loop.rules.price_table import TablePrice
from traced_loop.rules.pricing import Pricing

ESTIMATE = TokenUsage(input=100, output=10)
COUNTED = TokenUsage(input=1_000, output=200, total=1_200, source="provider")


def pricing(model: str | None) -> Pricing | None:
    """One USD per million tokens in, two out, for the requested model alone."""
    return Price(input=1, output=2) if model is None else None


def answered(usage: TokenUsage, model: str | None = None) -> ModelAnswer:
    """An answer that used so much."""
    return ModelAnswer(message=None, finish_reason="stop", usage=usage, response_model=model)


def test_counts_of_the_provider_are_taken_as_they_are() -> None:
    """And priced exactly."""
    found = bill(answered(COUNTED), ESTIMATE, pricing)

    assert (found.usage, found.cost, found.charged, found.source) == (
        COUNTED,
        Decimal("0.0014"),
        Decimal("0.0014"),
        "declared",
    )


def test_a_count_that_is_missing_is_estimated_for_the_limits_and_stays_unknown() -> None:
    """The one that is given is kept."""
    half = TokenUsage(output=500, source="provider")

    assert known_usage(half, ESTIMATE) == TokenUsage(output=500, total=600, source="estimated")
    assert known_usage(TokenUsage(), ESTIMATE) == TokenUsage(total=110, source="estimated")


def test_without_a_price_the_charge_is_an_estimate_from_what_was_counted() -> None:
    """Another model's answer costs an unknown amount, and its counted tokens at the requested model's price."""
    found = bill(answered(COUNTED, "other"), ESTIMATE, pricing)

    assert (found.cost, found.charged, found.source) == (None, Decimal("0.0014"), "unknown")


def test_the_tries_of_a_request_are_charged_together() -> None:
    """Counts and costs add up; one unknown cost makes the sum unknown."""
    one, other = bill(answered(COUNTED), ESTIMATE, pricing), bill(answered(COUNTED, "other"), ESTIMATE, pricing)

    both, mixed = one.plus(one), one.plus(other)

    assert (both.usage.total, both.usage.source, both.cost) == (2_400, "provider", Decimal("0.0028"))
    assert (mixed.cost, mixed.charged, mixed.source) == (None, Decimal("0.0028"), "unknown")


def test_what_the_provider_states_comes_after_a_declared_price_and_before_the_table() -> None:
    """Also where it gives no counts, and where nobody else knows a price."""
    stated = replace(COUNTED, cost_usd=Decimal("0.5"))
    table = TablePrice(price=Price(input=1, output=2))

    assert bill(answered(stated), ESTIMATE, pricing).source == "declared"
    by_provider = bill(answered(stated), ESTIMATE, lambda _model: table)
    assert (by_provider.cost, by_provider.charged, by_provider.source) == (Decimal("0.5"), Decimal("0.5"), "provider")
    assert bill(answered(stated, "other"), ESTIMATE, pricing).cost == Decimal("0.5")
    assert bill(answered(TokenUsage(cost_usd=Decimal("0.5"))), ESTIMATE, pricing).source == "provider"


def test_a_part_without_a_rate_is_charged_as_the_rest() -> None:
    """The cost is unknown, the limit is not blind."""
    found = bill(answered(replace(COUNTED, cache_write=500)), ESTIMATE, pricing)

    assert (found.cost, found.charged, found.source) == (None, Decimal("0.0014"), "unknown")
