"""What the next request may spend at worst, and the output cap that keeps it inside the limits.

The input is estimated: the last answer's counted usage plus what was added since. A cap is sent only from where the
limits leave less than the model can give, or than the caller's own cap, because servers refuse caps above a model's
own maximum. What a server gives beyond that maximum or beyond a cap is an overshoot, which the check after the step
reports.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.messages import TokenUsage
from traced_loop.rules.budget import NOTHING, Budget, Limit, Reserve, refusing
from traced_loop.rules.pricing import Pricing
from traced_loop.run_result import Usage

LAST_ANSWER_TOKENS: Final = 1_024
"""What is set aside for the answer of a last request: some pages of text, or some reasoning and a paragraph."""

_ANSWER_LIMITS: Final[tuple[Limit, ...]] = ("tokens", "cost_usd")
"""The limits that a shorter answer can keep."""


@frozen_value
class Side:
    """Limits, and what counts against them already: the run's own budget, or one that it shares."""

    budget: Budget
    usage: Usage
    shared: bool = False


@frozen_value
class Expected:
    """What is known of a request before it is sent.

    Attributes:
        input_tokens: estimated.
        ceiling: output tokens that the model gives at most.
        floor: the smallest output cap that the server takes.
        caller_cap: the caller's own cap, which is lowered where a limit leaves less, and never raised; or None.
        pricing: the requested model's price, or None.
        fallback_pricings: prices of the models that may answer in its place: the dearest answer is what is reserved.
        keep_last: whether a last request is to be set aside beside this one.
        last: whether this is that last request: it is no step.
    """

    input_tokens: int
    ceiling: int
    floor: int = 1
    caller_cap: int | None = None
    pricing: Pricing | None = None
    fallback_pricings: Sequence[Pricing | None] = ()
    keep_last: bool = False
    last: bool = False

    @property
    def longest(self) -> int:
        """Tokens of the longest answer that can come."""
        return self.ceiling if self.caller_cap is None else max(1, self.caller_cap)

    def reserve(self, cap: int) -> Reserve:
        """What the request takes at worst with an answer of ``cap`` tokens."""
        steps = 0 if self.last else 1
        return Reserve(steps=steps, tokens=self.input_tokens + cap, cost_usd=self._cost(self.input_tokens, cap))

    def kept(self, cap: int) -> Reserve:
        """What is set aside for a last request after such an answer, which it sends back."""
        if not self.keep_last:
            return NOTHING
        given, answer = self.input_tokens + cap, min(LAST_ANSWER_TOKENS, self.longest)
        return Reserve(tokens=given + answer, cost_usd=self._cost(given, answer))

    def _cost(self, given: int, answer: int) -> Decimal:
        usage = TokenUsage(input=given, output=answer)
        costs = [each.cost(usage) for each in (self.pricing, *self.fallback_pricings) if each is not None]
        return max((cost for cost in costs if cost is not None), default=Decimal(0))


@frozen_value
class Admission:
    """The reserve of a request.

    Attributes:
        reserve: one step, the estimated input, and the longest answer.
        kept: what is set aside for a last request.
        output_cap: tokens that the answer may have, or None where no limit asks for a cap.
        capped_by: the limit behind the cap, or None.
        input_tokens: the estimate, which stands in where nobody counts.
    """

    reserve: Reserve
    kept: Reserve = NOTHING
    output_cap: int | None = None
    capped_by: Limit | None = None
    input_tokens: int = 0


def admit(sides: Sequence[Side], expected: Expected) -> Admission:
    """Reserve the next request: with the longest answer that fits under every limit, of one token at least.

    A server may take no cap that small; whether what it takes fits is for a check to say.
    """
    longest = expected.longest
    capped_by: Limit | None = None
    for side in sides:
        for limit in _ANSWER_LIMITS:
            if side.budget.limit(limit) is None:
                continue
            room = _longest_that_fits(_fits(side, limit, expected), longest)
            if room < longest:
                longest, capped_by = room, limit
    if capped_by is not None:
        longest = max(min(expected.floor, expected.longest), longest)
    return Admission(
        reserve=expected.reserve(longest),
        kept=expected.kept(longest),
        output_cap=None if capped_by is None else longest,
        capped_by=capped_by,
        input_tokens=expected.input_tokens,
    )


def _fits(side: Side, limit: Limit, expected: Expected) -> Callable[[int], bool]:
    def fits(cap: int) -> bool:
        return limit not in refusing(side.budget, side.usage, expected.reserve(cap).plus(expected.kept(cap)))

    return fits


def _longest_that_fits(fits: Callable[[int], bool], longest: int) -> int:
    """The largest cap from 0 to ``longest`` that fits; a longer answer never costs less."""
    if fits(longest):
        return longest
    low, high = 0, longest  # low is taken to fit, high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
