"""A call that equals one of the previous step is known, with its count and its first occurrence."""

from traced_loop.rules.repetition import ConsecutiveCalls, Repeat


def steps(*calls_of_step: str) -> list[list[Repeat | None]]:
    """What is known of each call, for steps written as letters: ``"ab"`` is a step with the calls a and b."""
    seen = ConsecutiveCalls()
    found: list[list[Repeat | None]] = []
    for number, calls in enumerate(calls_of_step, 1):
        known = [seen.seen(call) for call in calls]
        for index, call in enumerate(calls):
            seen.made(call, (number, index))
        seen.end_step()
        found.append(known)
    return found


def test_the_second_occurrence_is_flagged_and_counted_on() -> None:
    """With the span of the first."""
    first, second, third = steps("a", "a", "a")
    assert first == [None]
    assert second == [Repeat(count=2, first=(1, 0))]
    assert third == [Repeat(count=3, first=(1, 0))]


def test_a_step_without_it_forgets_a_call() -> None:
    """Edit, then test again, is no repetition."""
    assert steps("a", "b", "a")[2] == [None]


def test_calls_of_one_step_do_not_repeat_one_another() -> None:
    """One response is one step, however many calls it holds."""
    assert steps("aa", "a") == [[None, None], [Repeat(count=2, first=(1, 0))]]


def test_each_call_of_a_step_is_compared() -> None:
    """Also in another order."""
    assert steps("ab", "ba")[1] == [Repeat(count=2, first=(1, 1)), Repeat(count=2, first=(1, 0))]
