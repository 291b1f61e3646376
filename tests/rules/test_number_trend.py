"""A number that moves one way is told from one that wanders, without the numbers."""

import pytest

from traced_loop.rules.number_trend import MAX_RESULTS, NumberTrends


def trends(*results: tuple[float, ...]) -> list[str | None]:
    """What is said of each result of one call."""
    seen = NumberTrends()
    return [seen.trend("call", "masked", numbers) for numbers in results]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([10, 20, 30], [None, "up", "up"]),
        ([30, 20, 10], [None, "down", "down"]),
        ([5, 9, 3, 7], [None, "up", "mixed", "mixed"]),
        ([5, 5, 5], [None, "same", "same"]),
        ([5, 5, 6, 6, 7], [None, "same", "up", "same", "up"]),
        ([1, 2, 1, 1], [None, "up", "mixed", "same"]),
    ],
)
def test_one_number_moves_one_way_or_wanders(values: list[float], said: list[str | None]) -> None:
    """The first result moves nowhere; a pause is no turn."""
    assert trends(*((value,) for value in values)) == said


def test_one_number_that_moves_one_way_is_enough() -> None:
    """A job's progress beside its speed; where only the speed moves, that is no progress."""
    assert trends((10, 5), (20, 9), (30, 3), (30, 8)) == [None, "up", "up", "mixed"]


def test_up_goes_before_down() -> None:
    """Done and left move at the same time."""
    assert trends((1, 9), (2, 8)) == [None, "up"]


def test_a_result_without_numbers_moves_nowhere() -> None:
    """Its fingerprint tells all."""
    assert trends((), ()) == [None, None]


def test_calls_and_texts_are_kept_apart() -> None:
    """Only the same call with the same words compares."""
    seen = NumberTrends()
    said = [seen.trend(call, masked, [n]) for n, (call, masked) in enumerate(["aa", "ab", "ba", "aa", "ab"])]
    assert said == [None, None, None, "up", "up"]
    assert seen.trend("a", "a", [1, 2]) is None  # a collision of fingerprints at worst


def test_what_was_not_seen_for_longest_is_forgotten() -> None:
    """The memory of a run is bounded."""
    seen = NumberTrends()
    for call in range(MAX_RESULTS):
        seen.trend(str(call), "m", [1])
    assert seen.trend("0", "m", [2]) == "up"
    seen.trend("another", "m", [1])
    assert seen.trend("1", "m", [2]) is None
    assert seen.trend("0", "m", [3]) == "up"
