"""A capped sum is what adding up one by one gives."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.diagnose.capped_sums import CappedSums


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9))), st.integers(0, 60))
def test_a_capped_sum_is_the_plain_one(numbers: list[tuple[int, int]], cap: int) -> None:
    """For any numbers, weights and caps."""
    sums = CappedSums(sorted({number for number, _ in numbers}))
    for number, weight in numbers:
        sums.add(number, Decimal(weight))

    assert sums.total(cap) == sum(weight * min(number, cap) for number, weight in numbers)
