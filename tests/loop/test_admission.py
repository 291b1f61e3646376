"""What the next request may cost, and the cap that keeps it inside the limits."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import pytest
from hypothesis import given as random
from hypothesis import strategies as st

from traced_loop import Budget, Price, Usage
from traced_loop.loop.admission import Admission, Expected, Side, admit
from traced_loop.messages import TokenUsage
from traced_loop.rules.budget import check


def admitted(
    budget: Budget,
    *,
    tokens: int = 0,
    charged: str = "0",
    caller_cap: int | None = None,
    keep_last: bool = False,
    shared: Budget | None = None,
    floor: int = 1,
) -> Admission:
    """The admission of a request of 100 tokens, at 1 USD per million in and 10 USD per million out."""
    usage = Usage(tokens=tokens, charged_usd=Decimal(charged))
    sides = [Side(budget=budget, usage=usage)] + ([Side(budget=shared, usage=Usage())] if shared else [])
    price = Price(input=1, output=10)
    expected = Expected(
        input_tokens=100, ceiling=1_000, floor=floor, caller_cap=caller_cap, pricing=price, keep_last=keep_last
    )
    return admit(sides, expected)


def test_a_request_reserves_one_step_its_input_and_the_longest_answer() -> None:
    """At its price."""
    reserve = admitted(Budget()).reserve

    assert (reserve.steps, reserve.tokens, reserve.cost_usd) == (1, 1_100, Decimal("0.0101"))


@pytest.mark.parametrize(
    ("budget", "spent", "cap", "by"),
    [
        pytest.param(Budget(tokens=None), 0, None, None, id="no_limit"),
        pytest.param(Budget(tokens=1_100), 0, None, None, id="room_for_the_longest_answer"),
        pytest.param(Budget(tokens=1_099), 0, 999, "tokens", id="one_token_less"),
        pytest.param(Budget(tokens=1_100), 500, 500, "tokens", id="half_spent"),
        pytest.param(Budget(cost_usd="0.0021"), 0, 200, "cost_usd", id="money"),
        pytest.param(Budget(tokens=150, cost_usd="0.0021"), 0, 50, "tokens", id="the_tighter_of_two"),
    ],
)
def test_a_cap_is_sent_where_a_limit_leaves_less_than_the_longest_answer(
    budget: Budget, spent: int, cap: int | None, by: str | None
) -> None:
    """The cap is what the tightest limit leaves, and it names that limit."""
    admission = admitted(budget, tokens=spent)

    assert (admission.output_cap, admission.capped_by) == (cap, by)


def test_a_cap_is_at_least_one_token() -> None:
    """Servers refuse a cap of zero; where not even one token fits, the check after it refuses the request."""
    admission = admitted(Budget(tokens=50))

    assert (admission.output_cap, admission.reserve.tokens) == (1, 101)


@pytest.mark.parametrize(("cost", "fits"), [("0.000109", False), ("0.00011", True), ("0.000111", True)])
def test_one_token_must_be_affordable(cost: str, fits: bool) -> None:
    """A request is admitted at exactly the cost of its input and one token."""
    budget = Budget(cost_usd=cost)

    assert (check(budget, Usage(), admitted(budget).reserve).exceeded is None) is fits


def test_a_cap_is_none_that_the_server_refuses() -> None:
    """A limit that leaves less stops the run before the request, which would be refused."""
    assert admitted(Budget(tokens=116), floor=16).output_cap == 16
    small = admitted(Budget(tokens=115), floor=16)
    assert (small.output_cap, small.capped_by, small.reserve.tokens) == (16, "tokens", 116)
    assert admitted(Budget(tokens=None), floor=16).output_cap is None
    assert admitted(Budget(tokens=104), caller_cap=5, floor=16).output_cap == 5


@pytest.mark.parametrize(("caller_cap", "cap", "reserved"), [(4_000, 50, 150), (50, None, 150), (49, None, 149)])
def test_a_cap_of_the_callers_is_lowered_to_what_a_limit_leaves(
    caller_cap: int, cap: int | None, reserved: int
) -> None:
    """And sent as it is where the limit leaves as much."""
    admission = admitted(Budget(tokens=150), caller_cap=caller_cap)

    assert (admission.output_cap, admission.reserve.tokens) == (cap, reserved)


def test_a_shared_limit_caps_the_answer_as_the_runs_own_does() -> None:
    """The tightest of all decides."""
    admission = admitted(Budget(tokens=900), shared=Budget(tokens=400))

    assert (admission.output_cap, admission.capped_by) == (300, "tokens")


def test_a_last_request_is_set_aside_with_the_answer_that_it_sends_back() -> None:
    """Both together fit under the limit, as exactly as whole tokens allow."""
    admission = admitted(Budget(tokens=1_500), keep_last=True)

    assert admission.kept.tokens == admission.reserve.tokens + 1_000  # the longest answer of this model
    assert 1_499 <= admission.reserve.tokens + admission.kept.tokens <= 1_500


@random(st.integers(1, 5_000), st.integers(0, 5_000), st.integers(1, 5_000), st.integers(1, 2_000), st.booleans())
def test_what_is_admitted_fits_and_one_token_more_would_not(
    limit: int, used: int, given: int, ceiling: int, keep_last: bool
) -> None:
    """The cap is the longest answer that fits, with what is set aside beside it."""
    budget, usage = Budget(tokens=limit), Usage(tokens=used)
    expected = Expected(input_tokens=given, ceiling=ceiling, keep_last=keep_last)
    admission = admit([Side(budget=budget, usage=usage)], expected)

    def fits(cap: int) -> bool:
        return check(budget, usage, expected.reserve(cap).plus(expected.kept(cap))).exceeded is None

    if admission.output_cap is None:
        assert fits(ceiling)
    else:
        assert fits(admission.output_cap) or admission.output_cap == 1
        assert not fits(admission.output_cap + 1)


def test_a_free_model_needs_no_cap_for_money() -> None:
    """Nothing that it answers can cost anything."""
    expected = Expected(input_tokens=100, ceiling=1_000, pricing=Price.free())
    admission = admit([Side(budget=Budget(tokens=None, cost_usd=1), usage=Usage())], expected)

    assert admission.output_cap is None


@dataclass(frozen=True)
class Tiered:
    """A model that costs ten times as much, in and out, from 1,000 input tokens on."""

    source: Literal["declared"] = "declared"

    def cost(self, usage: TokenUsage) -> Decimal:
        dearer = 10 if (usage.input or 0) >= 1_000 else 1
        return Decimal((usage.input or 0) + 10 * (usage.output or 0)) * dearer / 1_000_000


@pytest.mark.parametrize(("given", "cap"), [(999, 900), (1_000, 90)])
def test_the_cap_for_money_knows_what_the_answer_costs_after_this_input(given: int, cap: int) -> None:
    """What a long request makes dearer is counted as such, so that the answer stays inside the limit."""
    pricing = Tiered()
    reserved = pricing.cost(TokenUsage(input=given, output=0))
    budget = Budget(tokens=None, cost_usd=reserved + Decimal("0.009"))

    expected = Expected(input_tokens=given, ceiling=1_000, pricing=pricing)
    admission = admit([Side(budget=budget, usage=Usage())], expected)

    assert (admission.output_cap, admission.capped_by) == (cap, "cost_usd")
    assert pricing.cost(TokenUsage(input=given, output=cap)) <= budget.cost_usd  # type: ignore[operator]
