"""The first of many, without the others."""

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.views.foremost import Foremost


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_the_first_are_kept_in_order_and_all_are_counted(keys: list[int], most: int) -> None:
    """As sorting all of them would give them: of equals the first to come is first."""
    kept: Foremost[int] = Foremost(most)
    for place, key in enumerate(keys):
        kept.add(key, place)

    assert kept.values() == sorted(range(len(keys)), key=lambda place: keys[place])[:most]
    assert (kept.count, kept.left_out) == (len(keys), max(0, len(keys) - most))
