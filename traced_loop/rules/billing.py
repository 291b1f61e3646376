"""What a request is charged over all its tries: counted where the provider counts, estimated where it does not."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from traced_loop.closed_words import CostSource
from traced_loop.frozen_value import frozen_value
from traced_loop.messages import ModelAnswer, TokenUsage
from traced_loop.rules.pricing import Pricing


@frozen_value
class Bill:
    """What was used and what it costs.

    Attributes:
        usage: counts; the total is estimated where the provider gave none.
        cost: USD, or None when unknown.
        charged: what counts against a cost limit: the cost, or an estimate at the requested model's price.
        source: where the cost came from.
        pricing: the price behind the cost; None when that is unknown, or the provider's own.
        is_upper_bound: cached input was billed as input, since nobody says its rate.
    """

    usage: TokenUsage
    cost: Decimal | None
    charged: Decimal
    source: CostSource
    pricing: Pricing | None = None
    is_upper_bound: bool = False

    def plus(self, other: "Bill") -> "Bill":
        """Both together; unknown when either is."""
        known = self.cost is not None and other.cost is not None
        return Bill(
            usage=self.usage.plus(other.usage),
            cost=self.cost + other.cost if self.cost is not None and other.cost is not None else None,
            charged=self.charged + other.charged,
            source=other.source if known else "unknown",
            pricing=other.pricing if known else None,
            is_upper_bound=known and (self.is_upper_bound or other.is_upper_bound),
        )


def bill(answer: ModelAnswer, estimate: TokenUsage, pricing: Callable[[str | None], Pricing | None]) -> Bill:
    """What one answer is charged.

    A declared price is the caller's word and comes first, then what the provider says that it bills, then the table.

    Args:
        answer: its counts and the model that gave it: another model's price is not guessed.
        estimate: ``input`` and ``output`` that stand in for counts that the provider did not give.
        pricing: the price of a model by its name; of the requested one for None.
    """
    usage = known_usage(answer.usage, estimate)
    price = pricing(answer.response_model)
    cost = price.cost(usage) if price is not None else None
    stated = answer.usage.cost_usd
    if stated is not None and (price is None or cost is None or price.source != "declared"):
        return Bill(usage=usage, cost=stated, charged=stated, source="provider")
    if price is None or cost is None:
        charged = _estimated_cost(usage, estimate, pricing(None))
        return Bill(usage=usage, cost=None, charged=charged, source="unknown")
    rates = price.rates
    is_upper = usage.cached > 0 and cost > 0 and rates is not None and rates.cached_input is None
    return Bill(usage=usage, cost=cost, charged=cost, source=price.source, pricing=price, is_upper_bound=is_upper)


def known_usage(usage: TokenUsage, estimate: TokenUsage) -> TokenUsage:
    """The provider's counts, with an estimated total where they give none."""
    if usage.source == "provider" and usage.total is not None:
        return usage
    filled = _filled(usage, estimate)
    total = (filled.input or 0) + (filled.output or 0)
    if usage.source == "provider":  # one of the two counts was given
        return replace(usage, total=total, source="estimated")
    return TokenUsage(total=total, source="estimated")


def _estimated_cost(usage: TokenUsage, estimate: TokenUsage, price: Pricing | None) -> Decimal:
    # Parts whose rate nobody knows are charged as the rest.
    plain = replace(_filled(usage, estimate), cache_write=0, input_audio=0, output_audio=0)
    cost = price.cost(plain) if price is not None else None
    return cost or Decimal(0)


def _filled(usage: TokenUsage, estimate: TokenUsage) -> TokenUsage:
    return replace(
        usage,
        input=estimate.input if usage.input is None else usage.input,
        output=estimate.output if usage.output is None else usage.output,
    )
