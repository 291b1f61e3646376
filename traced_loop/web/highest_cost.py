"""What a run may cost at most, before it begins: its limits at the price of its model."""

from decimal import Decimal
from typing import Final

from traced_loop.messages import TokenUsage
from traced_loop.rules.budget import Budget
from traced_loop.rules.pricing import EXTRA_RATES, Pricing

_MILLION: Final = Decimal(1_000_000)


def highest_cost(budget: Budget, pricing: Pricing | None) -> Decimal | None:
    """USD; None where no price is known, or no limit bounds the cost.

    All tokens at the dearest rate; where the rates depend on the size of a request, all of them twice, as the input and
    as the answer of one request.
    """
    if pricing is None:
        return None
    by_limits = [Decimal(str(budget.cost_usd))] if budget.cost_usd is not None else []
    if budget.tokens is not None:
        by_tokens = _all(budget.tokens, pricing)
        by_limits += [] if by_tokens is None else [by_tokens]
    return min(by_limits, default=None)


def _all(tokens: int, pricing: Pricing) -> Decimal | None:
    rates = pricing.rates
    if rates is None:
        return pricing.cost(TokenUsage(input=tokens, output=tokens))
    known = (getattr(rates, name) for name in ("input", "output", *EXTRA_RATES))
    return tokens * max(Decimal(rate) for rate in known if rate is not None) / _MILLION
