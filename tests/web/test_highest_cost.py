"""What a run may cost at most."""

from decimal import Decimal

import pytest

from traced_loop import Budget
from traced_loop.rules import price_table
from traced_loop.rules.pricing import Price
from traced_loop.web.highest_cost import highest_cost

PRICE = Price(input="1", output="4", cached_input="0.1")


@pytest.mark.parametrize(
    ("budget", "most"),
    [
        (Budget(tokens=500_000), "2"),
        (Budget(tokens=500_000, cost_usd="0.25"), "0.25"),
        (Budget(tokens=500_000, cost_usd=5), "2"),
        (Budget(tokens=None, cost_usd="0.25"), "0.25"),
    ],
)
def test_the_nearer_limit_decides(budget: Budget, most: str) -> None:
    """All tokens as answers, the dearest rate; or the limit on the cost."""
    assert highest_cost(budget, PRICE) == Decimal(most)


def test_unknown_is_never_zero() -> None:
    """No price, or nothing that bounds the tokens; a price of nothing is known."""
    assert highest_cost(Budget(), None) is None
    assert highest_cost(Budget(tokens=None), PRICE) is None
    assert highest_cost(Budget(), Price.free()) == 0


def test_a_rate_beside_the_usual_ones_counts_where_it_is_dearer() -> None:
    """Audio, for example."""
    dear = Price(input="1", output="4", output_audio="20")
    assert highest_cost(Budget(tokens=1_000_000), dear) == Decimal(20)


def test_rates_that_depend_on_the_size_bound_it_too() -> None:
    """No way to spend the tokens costs more."""
    pricing = price_table.table_pricing("gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/openai/")
    assert pricing is not None
    most = highest_cost(Budget(tokens=300_000), pricing)
    assert most is not None
    assert most > Decimal(3)
