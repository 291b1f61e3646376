"""A limit is the last number that is allowed; what would pass it is refused before it is spent."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import UsageError
from traced_loop.rules.budget import Budget, Reserve, check, headroom
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.run_result import Usage

NONE = {"steps": None, "tool_calls": None, "seconds": None, "tokens": None}


def budget(**limits: Any) -> Budget:
    """Only these limits."""
    return Budget(**{**NONE, **limits})


ADMISSIONS = {
    "third-step-of-three": ({"steps": 3}, {"steps": 2}, {"steps": 1}, None),
    "fourth-step-of-three": ({"steps": 3}, {"steps": 3}, {"steps": 1}, "steps"),
    "six-calls-of-six": ({"tool_calls": 6}, {}, {"tool_calls": 6}, None),
    "seven-calls-of-six": ({"tool_calls": 6}, {}, {"tool_calls": 7}, "tool_calls"),
    "no-calls-at-the-limit": ({"tool_calls": 6}, {"tool_calls": 6}, {"steps": 1}, None),
    "the-last-token": ({"tokens": 100}, {"tokens": 50}, {"steps": 1, "tokens": 50}, None),
    "one-token-too-many": ({"tokens": 100}, {"tokens": 50}, {"steps": 1, "tokens": 51}, "tokens"),
    "a-batch-needs-no-token": ({"tokens": 100}, {"tokens": 100}, {"tool_calls": 1}, None),
    "cost-to-the-cent": ({"cost_usd": "0.3"}, {"charged_usd": Decimal("0.1")}, {"cost_usd": Decimal("0.2")}, None),
    "cost-of-a-request": (
        {"cost_usd": "0.3"},
        {"charged_usd": Decimal("0.1")},
        {"cost_usd": Decimal("0.2000001"), "steps": 1},
        "cost_usd",
    ),
    "seconds-that-passed": ({"seconds": 10}, {"seconds": 10.0}, {"steps": 1}, "seconds"),
    "seconds-that-are-left": ({"seconds": 10}, {"seconds": 9.99}, {"steps": 1}, None),
}


@pytest.mark.parametrize(("limits", "used", "reserve", "exceeded"), ADMISSIONS.values(), ids=ADMISSIONS)
def test_an_admission_refuses_what_would_pass_a_limit(
    limits: dict[str, Any], used: dict[str, Any], reserve: dict[str, Any], exceeded: str | None
) -> None:
    """And nothing else."""
    assert check(budget(**limits), Usage(**used), Reserve(**reserve)).exceeded == exceeded


@pytest.mark.parametrize(
    ("limits", "used", "exceeded"),
    [
        ({"steps": 3}, {"steps": 3}, None),
        ({"tokens": 100}, {"tokens": 100}, None),
        ({"tokens": 100}, {"tokens": 101}, "tokens"),
        ({"cost_usd": 1}, {"charged_usd": Decimal("1.000001")}, "cost_usd"),
        ({"seconds": 1}, {"seconds": 1.0}, "seconds"),
    ],
)
def test_what_was_spent_is_exceeded_only_beyond_the_limit(
    limits: dict[str, Any], used: dict[str, Any], exceeded: str | None
) -> None:
    """Without a reserve it is a comparison, not an admission."""
    assert check(budget(**limits), Usage(**used)).exceeded == exceeded


def test_of_several_limits_the_precedence_of_stops_decides() -> None:
    """The deadline before cost before tokens before calls before steps."""
    limits = {"steps": 1, "tool_calls": 1, "seconds": 1, "tokens": 1, "cost_usd": 1}
    order: list[Any] = []
    for _ in range(5):
        used = Usage(steps=9, tool_calls=9, seconds=9, tokens=9, charged_usd=Decimal(9))
        order.append(check(budget(**limits), used, Reserve(steps=1, tool_calls=1)).exceeded)
        del limits[order[-1]]
    assert order == ["seconds", "cost_usd", "tokens", "tool_calls", "steps"]


def test_a_warning_comes_before_the_limit_and_names_the_nearest() -> None:
    """From the declared part on."""
    found = check(budget(steps=10, tokens=1000, warn_at=0.8), Usage(steps=8, tokens=10))
    assert (found.outcome, found.next, found.fractions["steps"]) == ("warning", "steps", 0.8)
    assert check(budget(steps=10), Usage(steps=7)).outcome == "ok"


def test_each_limit_is_warned_of_once() -> None:
    """A limit of which a check has warned is fine again; another that comes near is not."""
    limits = budget(steps=10, tokens=1000)

    assert check(limits, Usage(steps=9, tokens=10), None, {"steps"}).outcome == "ok"
    assert check(limits, Usage(steps=9, tokens=800), None, {"steps"}).warned == ("tokens",)


@pytest.mark.parametrize(("used", "outcome"), [("0.2699999", "ok"), ("0.27", "warning"), ("0.2700001", "warning")])
def test_a_warning_is_due_at_exactly_its_part(used: str, outcome: str) -> None:
    """In decimals: nine tenths of 0.3 are 0.27."""
    assert check(budget(cost_usd="0.3", warn_at=0.9), Usage(charged_usd=Decimal(used))).outcome == outcome


def test_without_a_part_nothing_is_warned_of() -> None:
    """Up to the limit itself."""
    assert check(budget(steps=10, warn_at=None), Usage(steps=10)).outcome == "ok"


def test_a_limit_that_refuses_is_not_warned_of() -> None:
    """Another one that comes near in the same check is."""
    found = check(budget(steps=1, tokens=10), Usage(steps=1, tokens=9), Reserve(steps=1))

    assert (found.outcome, found.exceeded, found.warned) == ("exceeded", "steps", ("tokens",))


AMOUNTS = st.builds(
    Reserve,
    steps=st.integers(0, 9),
    tool_calls=st.integers(0, 9),
    tokens=st.integers(0, 10**6),
    cost_usd=st.decimals(0, 100, places=6),
)


@given(AMOUNTS, AMOUNTS)
def test_amounts_add_up_exactly(one: Reserve, other: Reserve) -> None:
    """What is reserved and released leaves what was there."""
    assert one.plus(other).minus(other) == one
    assert one.plus(other) == other.plus(one)


@given(AMOUNTS, AMOUNTS)
def test_what_was_admitted_and_spent_is_not_exceeded(used: Reserve, reserve: Reserve) -> None:
    """An admission and the comparison after it agree."""
    limits = budget(steps=10, tool_calls=10, tokens=10**6, cost_usd=100)

    def usage(amounts: Reserve) -> Usage:
        return Usage(
            steps=amounts.steps, tool_calls=amounts.tool_calls, tokens=amounts.tokens, charged_usd=amounts.cost_usd
        )

    admitted = check(limits, usage(used), reserve).exceeded
    assert check(limits, usage(used.plus(reserve))).exceeded == admitted


def test_without_limits_nothing_is_next() -> None:
    """And nothing is exceeded."""
    found = check(budget(), Usage(steps=10**9), Reserve(steps=1))
    assert (found.outcome, found.next, found.exceeded, found.fractions) == ("ok", None, None, {})


@given(st.integers(1, 10**6), st.integers(0, 2 * 10**6))
def test_headroom_is_never_negative_and_counts_stay_integers(limit: int, used: int) -> None:
    """Limit, used and remaining belong together."""
    room = headroom(budget(tokens=limit), Usage(tokens=used))["tokens"]
    assert (room.limit, room.used, room.remaining) == (limit, used, max(0, limit - used))
    assert {type(room.limit), type(room.used), type(room.remaining)} == {int}


def test_headroom_tells_only_limits_that_are_set() -> None:
    """Money and time are numbers with a fraction."""
    rooms = headroom(budget(cost_usd="0.5", seconds=2), Usage(charged_usd=Decimal("0.75"), seconds=0.5))
    assert set(rooms) == {"cost_usd", "seconds", "request_seconds", "tool_seconds"}
    assert (rooms["cost_usd"].remaining, rooms["seconds"].remaining) == (0.0, 1.5)


@pytest.mark.parametrize("name", ["steps", "tool_calls", "seconds", "tokens", "tool_seconds", "request_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "8", [8]])
def test_a_limit_that_makes_no_sense_is_refused(name: str, value: Any) -> None:
    """With its name."""
    with pytest.raises(UsageError, match=name):
        Budget(**{name: value})


@pytest.mark.parametrize("name", ["steps", "tool_calls", "tokens"])
def test_a_count_with_a_fraction_is_refused(name: str) -> None:
    """Nobody makes half a step."""
    with pytest.raises(UsageError, match=f"Budget: {name}=2.5 must be a whole number"):
        Budget(**{name: 2.5})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tool_seconds", "request_seconds"])
def test_what_every_run_needs_cannot_be_left_without_a_number(name: str) -> None:
    """A call and a request that may take forever would hold the run."""
    with pytest.raises(UsageError, match=f"Budget: {name}=None must be a finite number"):
        Budget(**{name: None})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, "-1", "nan", "much", float("inf")])
def test_a_cost_that_is_no_amount_is_refused(value: Any) -> None:
    """Before any run."""
    with pytest.raises(UsageError, match="cost_usd"):
        Budget(cost_usd=value)


@pytest.mark.parametrize("value", [0, 1.1, -1, float("nan"), True])
def test_a_warning_needs_a_part_of_the_limit(value: float) -> None:
    """Above 0, at most 1."""
    with pytest.raises(UsageError, match="warn_at"):
        Budget(warn_at=value)


def test_a_cost_is_kept_exactly() -> None:
    """0.1 is 0.1."""
    assert Budget(cost_usd=0.1).cost_usd == Decimal("0.1")


HUGE = 10**5000
BEYOND: dict[str, dict[str, Any]] = {
    "steps": {"steps": 10**400},
    "steps-by-one": {"steps": 2**63},
    "tool-calls": {"tool_calls": HUGE},
    "tokens": {"tokens": HUGE},
    "seconds": {"seconds": HUGE},
    "seconds-float": {"seconds": 1e10},
    "seconds-small": {"seconds": 5e-324},
    "request": {"request_seconds": 10**400},
    "tool": {"tool_seconds": 10**400},
    "warn": {"warn_at": 10**400},
    "warn-small": {"warn_at": 5e-324},
    "cost": {"cost_usd": HUGE},
    "cost-text": {"cost_usd": "1e400"},
    "cost-small": {"cost_usd": "1e-400"},
    "cost-under-a-millionth": {"cost_usd": "0.0000009"},
}


@pytest.mark.parametrize("limits", BEYOND.values(), ids=BEYOND)
def test_a_limit_that_arithmetic_cannot_hold_is_refused_with_the_allowed_range(limits: dict[str, Any]) -> None:
    """At construction, in one short sentence: not in the middle of a run, as an error of arithmetic."""
    with pytest.raises(UsageError, match=r"^Budget: \w+=.* must be .*(and at most|to 1,000)") as refused:
        Budget(**limits)

    assert len(str(refused.value)) < 300


def test_a_shared_limit_that_arithmetic_cannot_hold_is_refused() -> None:
    """It has the same range."""
    with pytest.raises(UsageError, match="at most 9223372036854775807"):
        SharedBudget(tokens=10**400)
    with pytest.raises(UsageError, match=r"from 0\.000001 to 1,000,000,000,000"):
        SharedBudget(cost_usd="1e-400")


def test_the_largest_and_the_smallest_limits_are_counted_exactly() -> None:
    """No count passes through a float on its way: 2**63 - 1 would become 2**63, which no span attribute holds."""
    most = 2**63 - 1
    for limits in (
        budget(steps=most, tool_calls=most, tokens=most, cost_usd=10**12, seconds=1e9),
        budget(steps=1, tool_calls=1, tokens=1, cost_usd="0.000001", seconds=1e-9, warn_at=1e-9),
    ):
        used = Usage(steps=1, tokens=1, charged_usd=Decimal("0.000001"), seconds=0.001)
        assert check(limits, used).fractions
        room = headroom(limits, used)["tokens"]
        assert room.limit == limits.tokens
        assert room.remaining == room.limit - 1
    assert SharedBudget(tokens=most).headroom()["tokens"].limit == most
