"""Prices of well-known models, from the genai-prices table. A name that is not in it has no price: nothing is guessed.

The table is slow to import, so it is loaded when the first price is asked for, or ahead of that in the background.
"""

import threading
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal

from traced_loop.frozen_value import frozen_value
from traced_loop.messages import TokenUsage
from traced_loop.rules.pricing import EXTRA_RATES, Price, Pricing, priced_parts


def load_ahead() -> None:
    """Import the table in the background, so that the first answer does not wait for it."""
    threading.Thread(target=_table, name="traced-loop-prices", daemon=True).start()


@lru_cache(maxsize=256)
def table_pricing(model: str, base_url: str) -> Pricing | None:
    """The table's price for a model at a provider's address, or None when either is not in it."""
    return _pricing(model, "provider_api_url", base_url)


@lru_cache(maxsize=256)
def provider_pricing(model: str, provider: str) -> Pricing | None:
    """The same for a provider by its name (``openai``), as stored traces have it."""
    return _pricing(model, "provider_id", provider) if model and provider else None


def _pricing(model: str, by: str, where: str) -> Pricing | None:
    table = _table()
    try:
        found = table.calc_price(table.Usage(input_tokens=1, output_tokens=1), model, **{by: where})
    except LookupError:
        return None
    name = f"genai-prices {table.__version__}"
    if fetched := found.auto_update_timestamp:  # else the prices are those of the release
        name = f"{name} of {fetched:%Y-%m-%d}"
    prices = {rate: getattr(found.model_price, key) for rate, key in _RATES.items()}
    given, output = prices["input"], prices["output"]
    if given is None or output is None or not all(r is None or isinstance(r, Decimal) for r in prices.values()):
        return TieredPrice(model=model, by=by, where=where, table=name)
    return TablePrice(price=Price(**prices), table=name)


_RATES: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "input_audio": "input_audio_mtok",
    "output_audio": "output_audio_mtok",
}
"""Fields of the table, by the rate of ``Price`` that they are."""


@frozen_value
class TablePrice:
    """A model with one rate per kind of token; ``table`` says which table, and of which day where that is known."""

    price: Price
    table: str = ""

    @property
    def rates(self) -> Price:
        """See ``Pricing.rates``."""
        return self.price

    @property
    def source(self) -> Literal["price_table"]:
        """See ``Pricing.source``."""
        return "price_table"

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """See ``Pricing.cost``."""
        return self.price.cost(usage)


@frozen_value
class TieredPrice:
    """A model whose rates depend on the size of the request: the table computes each cost.

    Attributes:
        model: its name.
        by: how the table is asked for its provider: ``provider_api_url`` or ``provider_id``.
        where: that address or name.
        table: as above.
    """

    model: str
    by: str
    where: str
    table: str = ""

    @property
    def rates(self) -> None:
        """See ``Pricing.rates``."""
        return

    @property
    def source(self) -> Literal["price_table"]:
        """See ``Pricing.source``."""
        return "price_table"

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """See ``Pricing.cost``."""
        parts = priced_parts(usage)
        if parts is None:
            return None
        table = _table()
        counts = table.Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=parts["cached_input"],
            cache_write_tokens=parts["cache_write"],
            input_audio_tokens=parts["input_audio"],
            output_audio_tokens=parts["output_audio"],
        )
        found = table.calc_price(counts, self.model, **{self.by: self.where})
        # A model that costs nothing has no rates at all; else the table bills what it has no rate for as the rest.
        rates = found.model_price
        if found.total_price and any(parts[name] and getattr(rates, _RATES[name]) is None for name in EXTRA_RATES):
            return None
        total: Decimal = found.total_price
        return total


@lru_cache(maxsize=1)
def _table() -> Any:
    import genai_prices

    return genai_prices
