"""Cached tokens are part of the input, reasoning tokens part of the output; unknown is never zero."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import UsageError
from traced_loop.messages import TokenUsage
from traced_loop.rules.pricing import Price, cost_band, microusd, read_price

PRICE = Price(input=1.0, output=4, cached_input="0.1")


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"input": 10_000, "output": 500, "cached": 8_000}, "0.0048"),
        ({"input": 0, "output": 900, "reasoning": 700}, "0.0036"),
        ({"input": 100, "output": 0, "cached": 150}, "0.00001"),
        ({"input": 10_000, "output": 500}, "0.012"),
    ],
)
def test_nothing_is_billed_twice(usage: dict[str, int], cost: str) -> None:
    """Exact decimals, and never negative."""
    assert PRICE.cost(TokenUsage(**usage)) == Decimal(cost)


def test_without_a_cached_price_cached_tokens_cost_as_input() -> None:
    """An upper bound, not a discount that nobody promised."""
    assert Price(input=1, output=4).cost(TokenUsage(input=1_000_000, output=0, cached=1_000_000)) == 1


@pytest.mark.parametrize("usage", [{"input": 5}, {"output": 5}, {"total": 5}, {}])
def test_unknown_counts_have_no_cost(usage: dict[str, int]) -> None:
    """None, not zero."""
    assert PRICE.cost(TokenUsage(**usage)) is None


def test_a_free_model_costs_nothing_whatever_it_counts() -> None:
    """It was said on purpose."""
    assert Price.free().cost(TokenUsage()) == 0
    assert Price.free().source == "declared"


@pytest.mark.parametrize("value", [-1, "x", float("nan"), float("inf"), "-0.1", ""])
def test_a_price_that_is_none_is_refused(value: Any) -> None:
    """When it is declared, with the field's name."""
    with pytest.raises(UsageError, match="cached_input"):
        Price(input=1, output=1, cached_input=value)


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=3))
def test_a_cost_is_exact_and_grows_with_its_counts(counts: list[int]) -> None:
    """Ten parts of a million are the same in any order of adding."""
    given_, answered, cached = counts
    cost = PRICE.cost(TokenUsage(input=given_, output=answered, cached=cached))
    more = PRICE.cost(TokenUsage(input=given_ + 1, output=answered + 1, cached=cached))
    assert cost is not None
    assert more is not None
    assert 0 <= cost < more


@pytest.mark.parametrize(("usd", "micro"), [("0", 0), ("0.0000001", 1), ("0.0048", 4800), ("1.0000001", 1_000_001)])
def test_millionths_are_rounded_up(usd: str, micro: int) -> None:
    """Nothing that costs something becomes zero."""
    assert microusd(Decimal(usd)) == micro


@pytest.mark.parametrize(
    ("usd", "band"),
    [
        ("0", "lt_0.01"),
        ("0.0099", "lt_0.01"),
        ("0.01", "lt_0.10"),
        ("0.0999", "lt_0.10"),
        ("0.1", "lt_1"),
        ("0.99", "lt_1"),
        ("1", "ge_1"),
        ("99", "ge_1"),
    ],
)
def test_a_boundary_belongs_to_the_upper_band(usd: str, band: str) -> None:
    """The words can be searched for exactly."""
    assert cost_band(Decimal(usd)) == band


def test_a_price_reads_what_it_wrote() -> None:
    """Without a price for cached tokens they cost what others do; anything else is no price."""
    assert read_price(Price(input="0.25", output=2, cached_input="0.025").text) == Price(
        input="0.25", output=2, cached_input="0.025"
    )
    assert read_price(Price(input=1, output=4).text) == Price(input=1, output=4, cached_input=1)
    odd = ("", "1,2", "1,2,x", "1,2,-3", "1,2,3,4", "NaN,1,1", "1,2,3,cache_write=x", "1,2,3,input=4", "1,2,3,a=b=c")
    assert [read_price(text) for text in odd] == [None] * len(odd)
    whole = Price(input=1, output=4, cached_input="0.1", cache_write="1.25", input_audio=32, output_audio="64.5")
    assert read_price(whole.text) == whole


@pytest.mark.parametrize("part", ["cache_write", "input_audio", "output_audio"])
def test_a_part_that_is_billed_otherwise_needs_its_rate(part: str) -> None:
    """The rate of the rest would be too little; what is free is free with all its parts."""
    usage = TokenUsage(input=100, output=100, **{part: 10})

    assert PRICE.cost(usage) is None
    assert Price(input=1, output=1, **{part: 11}).cost(usage) == Decimal(190 + 110) / 10**6
    assert Price.free().cost(usage) == 0


def test_audio_out_of_the_cache_has_no_rate() -> None:
    """Where the parts overlap, what the overlap costs is not said."""
    price = Price(input=1, output=1, input_audio=10)

    assert price.cost(TokenUsage(input=100, output=0, cached=60, input_audio=60)) is None
    assert price.cost(TokenUsage(input=120, output=0, cached=60, input_audio=60)) is not None
