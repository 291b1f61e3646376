"""What the next request may cost at worst, and the output cap that keeps it inside the limits.

The input is estimated: the last answer's counted usage plus what was added since. A cap is sent only from where the
limits leave less than the model can give, because servers refuse caps above a model's own maximum; until then the
overshoot is bounded by that maximum and reported.
"""

from dataclasses import dataclass
from decimal import Decimal

from traced_loop.messages import TokenUsage
from traced_loop.rules.budget import Budget, Limit, Reserve
from traced_loop.rules.pricing import Pricing
from traced_loop.run_result import Usage

_MANY = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """The reserve of the next request.

    Attributes:
        reserve: one step and the estimated input.
        output_cap: tokens that the answer may have, or None for no cap.
        capped_by: the limit behind the cap, or None.
    """

    reserve: Reserve
    output_cap: int | None
    capped_by: Limit | None


def admit(
    budget: Budget, usage: Usage, *, input_tokens: int, ceiling: int, caller_cap: int | None, pricing: Pricing | None
) -> Admission:
    """Reserve the next request.

    Args:
        budget: the limits.
        usage: what is spent.
        input_tokens: estimated tokens of the request.
        ceiling: output tokens that the model gives at most.
        caller_cap: the caller's own cap, which is never replaced; or None.
        pricing: the requested model's price, or None.
    """
    cost = pricing.cost(TokenUsage(input=input_tokens, output=0)) if pricing is not None else None
    reserve = Reserve(steps=1, tokens=input_tokens, cost_usd=cost or Decimal(0))
    rooms: dict[Limit, int] = {}
    if budget.tokens is not None:
        rooms["tokens"] = budget.tokens - usage.tokens - input_tokens
    if budget.cost_usd is not None and pricing is not None:
        # At this input: a long request can make the answer's tokens dearer too.
        whole = pricing.cost(TokenUsage(input=input_tokens, output=_MANY)) or Decimal(0)
        rate = (whole - reserve.cost_usd) / _MANY
        if rate > 0:
            left = Decimal(budget.cost_usd) - usage.charged_usd - reserve.cost_usd
            rooms["cost_usd"] = int(left / rate)
    tightest = min(rooms, key=lambda name: rooms[name], default=None)
    if tightest is None or caller_cap is not None or rooms[tightest] >= ceiling:
        return Admission(reserve=reserve, output_cap=None, capped_by=None)
    return Admission(reserve=reserve, output_cap=max(1, rooms[tightest]), capped_by=tightest)
