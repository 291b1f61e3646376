"""Limits against usage: admitted before it is spent, compared again after.

Boundaries: a limit is the last number that is allowed. ``steps=3`` admits a third request and refuses the fourth;
``tool_calls=6`` admits a batch that makes six; a run is over its ``seconds`` once that many have passed (``>=``); a
request is admitted while at least one output token fits under ``tokens`` and ``cost_usd`` (``>``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from traced_loop.closed_words import BudgetOutcome
from traced_loop.errors import UsageError
from traced_loop.given_values import amount, count
from traced_loop.outcomes import STOP_PRECEDENCE, StopReason
from traced_loop.run_result import Headroom, Usage

Limit = Literal["steps", "tool_calls", "seconds", "tokens", "cost_usd"]
"""The limits that a run as a whole can reach; their names are those of ``Budget`` and ``Usage``."""

LIMITS: Final[tuple[Limit, ...]] = ("steps", "tool_calls", "seconds", "tokens", "cost_usd")

STOP_OF: Final[Mapping[Limit, StopReason]] = {
    "steps": StopReason.MAX_STEPS_EXCEEDED,
    "tool_calls": StopReason.TOOL_BUDGET_EXCEEDED,
    "seconds": StopReason.DEADLINE_EXCEEDED,
    "tokens": StopReason.TOKEN_BUDGET_EXCEEDED,
    "cost_usd": StopReason.COST_BUDGET_EXCEEDED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """The limits of one run; None means no limit, where it is allowed.

    Attributes:
        steps: model requests with the handling of their calls.
        tool_calls: executed calls.
        tool_seconds: one call, unless the tool declares its own timeout.
        request_seconds: one model request, attempts included.
        seconds: the whole run, on a clock that never jumps; waits for a confirmation are left out.
        tokens: input and output together, over the whole run.
        cost_usd: USD over the whole run; a model without a known price is refused before the run.
        warn_at: part of a limit from which a check says ``warning``, 0 to 1.
    """

    steps: int | None = 8
    tool_calls: int | None = 32
    tool_seconds: float = 30.0
    request_seconds: float = 120.0
    seconds: float | None = 300.0
    tokens: int | None = 200_000
    cost_usd: Decimal | float | str | None = None
    warn_at: float = 0.8

    def __post_init__(self) -> None:
        """Refuse limits that make no sense.

        Raises:
            UsageError: a limit is zero, negative or not finite, a count is not whole, or a field that needs a number
                has none.
        """
        if self.cost_usd is not None:
            object.__setattr__(self, "cost_usd", _decimal(self.cost_usd))
        for name in ("steps", "tool_calls", "tokens"):
            count(name, getattr(self, name), of="Budget", or_none=True)
        amount("seconds", self.seconds, of="Budget", or_none=True)
        for name in ("tool_seconds", "request_seconds", "warn_at"):
            amount(name, getattr(self, name), of="Budget")
        if self.warn_at > 1:
            raise UsageError(f"Budget: warn_at={self.warn_at!r} must be at most 1")

    def limit(self, name: Limit) -> float | None:
        """The number behind a limit, or None."""
        value = getattr(self, name)
        return None if value is None else float(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reserve:
    """What is about to be spent at worst, as far as that can be known."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetCheck:
    """The verdict of one comparison.

    Attributes:
        outcome: ``ok``, ``warning`` from ``warn_at`` of any limit on, ``exceeded``.
        exceeded: the limit that refuses, by the precedence of stops; None unless exceeded.
        next: the limit of which the largest part is spent; None without limits.
        fractions: spent part of each limit that is set.
    """

    outcome: BudgetOutcome
    exceeded: Limit | None
    next: Limit | None
    fractions: Mapping[Limit, float]


def check(budget: Budget, usage: Usage, reserve: Reserve | None = None) -> BudgetCheck:
    """Compare usage and what is about to be spent with every limit.

    With a reserve this is an admission: a limit refuses when usage and reserve together would pass it. Without one
    it compares what was spent: a limit is exceeded only when it was passed.
    """
    over = {name for name in LIMITS if _refuses(name, budget, usage, reserve)}
    exceeded: Limit | None = next((name for name in _BY_PRECEDENCE if name in over), None)
    fractions = _fractions(budget, usage)
    nearest = max(fractions, key=lambda name: fractions[name], default=None)
    warned = nearest is not None and fractions[nearest] >= budget.warn_at
    outcome: BudgetOutcome = "exceeded" if exceeded else "warning" if warned else "ok"
    return BudgetCheck(outcome=outcome, exceeded=exceeded, next=nearest, fractions=fractions)


def headroom(budget: Budget, usage: Usage) -> dict[str, Headroom]:
    """Limit, used and remaining of every limit that is set; counts stay integers."""
    found: dict[str, Headroom] = {}
    for name in LIMITS:
        limit = budget.limit(name)
        if limit is not None:
            number = float if name in {"seconds", "cost_usd"} else int
            used = _used(name, usage)
            found[name] = Headroom(limit=number(limit), used=number(used), remaining=number(max(0.0, limit - used)))
    return found


_BY_PRECEDENCE: Final[tuple[Limit, ...]] = tuple(sorted(LIMITS, key=lambda name: STOP_PRECEDENCE.index(STOP_OF[name])))


def _refuses(name: Limit, budget: Budget, usage: Usage, reserve: Reserve | None) -> bool:
    # Exact numbers, not floats: 0.1 and 0.2 make 0.3, at the boundary too.
    limit: Any = getattr(budget, name)
    if limit is None:
        return False
    used: Any = usage.charged_usd if name == "cost_usd" else getattr(usage, name)
    if name == "seconds":
        return bool(used >= limit)
    if reserve is None:
        return bool(used > limit)
    more: Any = getattr(reserve, name)
    # Tokens and cost are reserved for the input alone: something must be left for an answer.
    strict = name in {"tokens", "cost_usd"} and reserve.steps > 0
    return bool(used + more >= limit if strict else used + more > limit)


def _used(name: Limit, usage: Usage) -> float:
    # What counts against the cost limit is never unknown: where the bill is, it is an estimate.
    return float(usage.charged_usd if name == "cost_usd" else getattr(usage, name))


def _fractions(budget: Budget, usage: Usage) -> dict[Limit, float]:
    return {name: _used(name, usage) / limit for name in LIMITS if (limit := budget.limit(name)) is not None}


def _decimal(value: Decimal | float | str) -> Decimal:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or number <= 0:
        raise UsageError(f"Budget: cost_usd={value!r} must be an amount of more than 0 USD, or None for no limit")
    return number
