"""A budget that several runs share: what one has reserved, another cannot spend, and nothing stays reserved."""

import threading
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop import SharedBudget, Usage, UsageError
from traced_loop.rules.budget import NOTHING, Reserve

THOUSAND = Reserve(steps=1, tokens=1_000)


def test_what_one_run_has_reserved_another_cannot_reserve() -> None:
    """Until it is settled: then only what was spent counts."""
    budget = SharedBudget(tokens=1_500)
    one, other = budget.share(), budget.share()

    assert one.hold(Usage(), THOUSAND).exceeded is None
    assert other.hold(Usage(), THOUSAND).exceeded == "tokens"
    one.settle(Usage(steps=1, tokens=400))
    assert other.hold(Usage(), THOUSAND).exceeded is None
    assert (budget.spent.tokens, budget.reserved.tokens) == (400, 1_000)


@pytest.mark.parametrize(("tokens", "exceeded"), [(999, None), (1_000, None), (1_001, "tokens")])
def test_a_shared_limit_holds_at_exactly_its_number(tokens: int, exceeded: str | None) -> None:
    """The limit is the last number that is allowed."""
    assert SharedBudget(tokens=1_000).share().hold(Usage(), Reserve(tokens=tokens)).exceeded == exceeded


def test_a_run_replaces_its_own_reserve() -> None:
    """It does not stand in its own way."""
    share = SharedBudget(tokens=1_000).share()

    share.hold(Usage(), THOUSAND)

    assert share.taken().tokens == 0
    assert share.hold(Usage(), THOUSAND).exceeded is None


def test_where_a_limit_refuses_what_was_set_aside_stays() -> None:
    """And nothing more."""
    budget = SharedBudget(tokens=1_000)
    share, kept = budget.share(), Reserve(tokens=300)
    share.hold(Usage(), Reserve(tokens=800).plus(kept).minus(Reserve(tokens=100)))

    assert share.hold(Usage(tokens=700), Reserve(tokens=900), kept).exceeded == "tokens"
    assert (budget.spent.tokens, budget.reserved.tokens) == (700, 300)


def test_more_than_was_reserved_is_counted_all_the_same() -> None:
    """An overshoot is reported, and nobody gets anything after it."""
    budget = SharedBudget(tokens=1_000)
    share = budget.share()
    share.hold(Usage(), THOUSAND)

    assert share.settle(Usage(tokens=1_200)).exceeded == "tokens"
    assert budget.headroom()["tokens"].used == 1_200
    assert budget.headroom()["tokens"].remaining == 0
    assert budget.share().hold(Usage(), Reserve(tokens=1)).exceeded == "tokens"


def test_headroom_leaves_out_what_is_reserved() -> None:
    """Counts stay integers, money has a fraction; a limit that is not set is not there."""
    budget = SharedBudget(tokens=1_000, cost_usd="0.5")
    budget.share().hold(Usage(), Reserve(tokens=300, cost_usd=Decimal("0.1")))

    rooms = budget.headroom()
    assert set(rooms) == {"tokens", "cost_usd"}
    assert (rooms["tokens"].remaining, type(rooms["tokens"].remaining)) == (700, int)
    assert rooms["cost_usd"].remaining == pytest.approx(0.4)


def test_each_limit_is_warned_of_once_whoever_comes_near() -> None:
    """One run is told, the next is not."""
    budget = SharedBudget(tokens=1_000)

    assert budget.share().settle(Usage(tokens=800)).warned == ("tokens",)
    assert budget.share().settle(Usage(tokens=100)).warned == ()


@pytest.mark.parametrize(
    "given_",
    [{}, {"tokens": 0}, {"cost_usd": "much"}, {"tokens": 1, "name": ""}, {"tokens": 1, "name": 7}, {"steps": 1.5}],
)
def test_a_shared_budget_that_makes_no_sense_is_refused(given_: dict[str, Any]) -> None:
    """Before any run."""
    with pytest.raises(UsageError):
        SharedBudget(**given_)


ACTS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["hold", "settle"]), st.integers(0, 400)), max_size=40)


@given(ACTS)
def test_spent_and_reserved_never_pass_a_limit_that_every_run_asks(acts: list[tuple[int, str, int]]) -> None:
    """Runs that spend no more than they hold; whatever the order."""
    budget = SharedBudget(tokens=1_000)
    shares = [budget.share() for _ in range(4)]
    spent, held = [0] * 4, [0] * 4
    for run, act, tokens in acts:
        if act == "hold":
            refused = shares[run].hold(Usage(tokens=spent[run]), Reserve(tokens=tokens)).exceeded
            held[run] = 0 if refused else tokens
        else:
            spent[run], held[run] = spent[run] + min(tokens, held[run]), 0
            shares[run].settle(Usage(tokens=spent[run]))
        assert budget.spent.tokens == sum(spent)
        assert budget.reserved.tokens == sum(held)
        assert sum(spent) + sum(held) <= 1_000
    for run, share in enumerate(shares):
        share.settle(Usage(tokens=spent[run]))
    assert budget.reserved == NOTHING


def test_threads_lose_no_update() -> None:
    """Thirty-two threads, a hundred holds each."""
    budget = SharedBudget(tokens=10_000_000)

    def spend() -> None:
        share = budget.share()
        for number in range(100):
            share.hold(Usage(tokens=number * 7), Reserve(tokens=7))
            share.settle(Usage(tokens=number * 7 + 7))

    threads = [threading.Thread(target=spend) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.spent.tokens, budget.reserved) == (32 * 700, NOTHING)
