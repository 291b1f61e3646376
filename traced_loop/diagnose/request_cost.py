"""What one stored request cost: at the rates of its trace, at the table's where these make the same, else as told."""

from decimal import Decimal
from typing import Final

from traced_loop.messages import TokenUsage
from traced_loop.read.agent_run import StoredRequest
from traced_loop.rules.price_table import provider_pricing
from traced_loop.rules.pricing import Price

_MILLION: Final = Decimal(1_000_000)
_SAME_COST: Final = Decimal("0.00000001")
"""USD by which a cost that was written as a float may differ."""


def rates_of(request: StoredRequest) -> Price | None:
    """USD per million tokens of a request: the trace's, else the table's, unless these make it another cost."""
    return rates_and_table(request)[0]


def cost_of_request(request: StoredRequest) -> Decimal | None:
    """USD of a request, failed tries included: the trace's, else at the table's rates; None where neither is known."""
    price = rates_of(request) if request.cost_usd is None and is_counted(request) else None
    return request.cost_usd if price is None else price.cost(usage_of(request))


def rates_and_table(request: StoredRequest) -> tuple[Price | None, str]:
    """The same, and the table that they come from; ``""`` for none."""
    if request.input_audio_tokens or request.output_audio_tokens:
        return None, ""  # which messages they are of is not known, and they are billed otherwise
    if request.price is not None:
        return (request.price if _covers(request.price, request) else None), request.price_table
    pricing = provider_pricing(request.response_model or request.model, request.provider)
    rates = None if pricing is None else pricing.rates
    if pricing is None or rates is None or not _covers(rates, request):
        return None, ""
    cost, ours = request.cost_usd, rates.cost(usage_of(request))
    if cost is not None and ours is not None and abs(ours - cost) > _SAME_COST:
        return None, ""
    return rates, pricing.table or ""


def _covers(price: Price, request: StoredRequest) -> bool:
    """Whether it has a rate for what was written into the cache."""
    return not request.cache_write_tokens or price.cache_write is not None


def usage_of(request: StoredRequest) -> TokenUsage:
    """The counts of a request; those of the whole are 0 where they are unknown."""
    return TokenUsage(
        input=request.input_tokens or 0,
        output=request.output_tokens or 0,
        cached=request.cached_tokens or 0,
        cache_write=request.cache_write_tokens or 0,
        input_audio=request.input_audio_tokens or 0,
        output_audio=request.output_audio_tokens or 0,
    )


def is_counted(request: StoredRequest) -> bool:
    """Whether both of its counts are known."""
    return request.input_tokens is not None and request.output_tokens is not None


def priced(price: Price, given: int, cached: int, got: int, written: int = 0) -> Decimal:
    """USD of tokens in, of which so many came from the cache and so many were written into it, and out."""
    fresh, kept, put = input_rates(price)
    return ((given - cached - written) * fresh + cached * kept + written * put + got * Decimal(price.output)) / _MILLION


def input_rates(price: Price) -> tuple[Decimal, Decimal, Decimal]:
    """Of fresh input, of cached input, of input that is written into the cache."""
    fresh = Decimal(price.input)
    return fresh, price.cached_rate, fresh if price.cache_write is None else Decimal(price.cache_write)
