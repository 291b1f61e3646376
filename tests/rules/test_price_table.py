"""Prices come from the table for exactly the model and the server that are in it; nothing is guessed."""

from decimal import Decimal

import pytest

from traced_loop.messages import TokenUsage
from traced_loop.rules.price_table import TablePrice, TieredPrice, load_ahead, provider_pricing, table_pricing

OPENAI = "https://api.openai.com/v1"


def test_a_known_model_at_its_own_server_has_a_price() -> None:
    """Cached tokens cost less, and nothing is billed twice."""
    pricing = table_pricing("gpt-4o-mini", OPENAI)
    assert isinstance(pricing, TablePrice)
    full = pricing.cost(TokenUsage(input=1_000_000, output=0))
    cached = pricing.cost(TokenUsage(input=1_000_000, output=0, cached=1_000_000))
    assert full is not None
    assert cached is not None
    assert 0 < cached < full
    assert (pricing.source, pricing.cost(TokenUsage())) == ("price_table", None)


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("gpt-4o-minii", OPENAI),
        ("my-own-model", OPENAI),
        ("", OPENAI),
        ("gpt-4o-mini", "http://localhost:8000/v1"),
        ("gpt-4o-mini", "https://llm.example.com/v1"),
    ],
)
def test_what_is_not_in_the_table_has_no_price(model: str, base_url: str) -> None:
    """A typing mistake is not free, and another server's bill is its own."""
    assert table_pricing(model, base_url) is None


def test_a_rate_that_depends_on_size_is_asked_for_each_answer() -> None:
    """The table computes what a long request costs more."""
    pricing = TieredPrice(model="gpt-4o-mini", by="provider_api_url", where=OPENAI)
    one = pricing.cost(TokenUsage(input=1000, output=1000, cached=2000))
    assert isinstance(one, Decimal)
    assert (one > 0, pricing.source) == (True, "price_table")
    assert pricing.cost(TokenUsage(total=5)) is None


def test_loading_ahead_changes_no_price() -> None:
    """It only makes the first one faster."""
    load_ahead()
    assert table_pricing("gpt-4o", OPENAI) is not None


def test_a_provider_is_known_by_its_name_too() -> None:
    """Stored traces name the provider, not its address; it says which table it comes from."""
    by_name, by_address = provider_pricing("gpt-4o-mini", "openai"), table_pricing("gpt-4o-mini", OPENAI)
    assert by_name is not None
    assert by_address is not None
    assert (by_name.rates, by_name.table) == (by_address.rates, by_address.table)
    assert str(by_name.table).startswith("genai-prices ")
    assert provider_pricing("gpt-4o-mini", "nobody") is None
    assert provider_pricing("", "openai") is None


def test_a_rate_of_its_own_is_the_tables_or_unknown() -> None:
    """What the table has no rate for is not billed as the rest."""
    written = TokenUsage(input=1_000, output=0, cache_write=1_000)
    anthropic, openai = "https://api.anthropic.com/v1", table_pricing("gpt-4o-mini", OPENAI)
    claude = table_pricing("claude-sonnet-4-5", anthropic)
    assert isinstance(claude, TieredPrice)
    assert claude.cost(written) == Decimal("0.00375")
    assert claude.cost(TokenUsage(input=1_000, output=10, input_audio=5)) is None
    assert openai is not None
    assert openai.cost(written) is None
    audio = table_pricing("gpt-audio", OPENAI)
    assert audio is not None
    assert audio.cost(TokenUsage(input=1_000, output=0, input_audio=1_000)) == Decimal("0.032")
