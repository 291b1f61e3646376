"""What the next request may cost, and the cap that keeps it inside the limits."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import pytest

from traced_loop import Budget, Price, Usage
from traced_loop.loop.admission import Admission, admit
from traced_loop.messages import TokenUsage


def admitted(budget: Budget, *, tokens: int = 0, charged: str = "0", caller_cap: int | None = None) -> Admission:
    """The admission of a request of 100 tokens, at 1 USD per million in and 10 USD per million out."""
    usage = Usage(tokens=tokens, charged_usd=Decimal(charged))
    price = Price(input=1, output=10)
    return admit(budget, usage, input_tokens=100, ceiling=1_000, caller_cap=caller_cap, pricing=price)


def test_a_request_reserves_one_step_and_its_input() -> None:
    """What the answer will take is not reserved: it is bounded by the cap."""
    reserve = admitted(Budget()).reserve

    assert (reserve.steps, reserve.tokens, reserve.cost_usd) == (1, 100, Decimal("0.0001"))


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
    """Servers refuse a cap of zero, so a request that is barely admitted asks for one token."""
    assert admitted(Budget(cost_usd="0.000101")).output_cap == 1


def test_a_cap_of_the_callers_is_never_replaced() -> None:
    """What the caller asked for is sent as it is."""
    assert admitted(Budget(tokens=150), caller_cap=4_000).output_cap is None


def test_a_free_model_needs_no_cap_for_money() -> None:
    """Nothing that it answers can cost anything."""
    admission = admit(
        Budget(tokens=None, cost_usd=1), Usage(), input_tokens=100, ceiling=1_000, caller_cap=None, pricing=Price.free()
    )

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

    admission = admit(budget, Usage(), input_tokens=given, ceiling=1_000, caller_cap=None, pricing=pricing)

    assert (admission.output_cap, admission.capped_by) == (cap, "cost_usd")
    assert pricing.cost(TokenUsage(input=given, output=cap)) <= budget.cost_usd  # type: ignore[operator]
