"""Limits against usage: admitted before it is spent, compared again after.

Boundaries: a limit is the last number that is allowed. ``steps=3`` admits a third request and refuses the fourth;
``tool_calls=6`` admits a batch that makes six; a run is over its ``seconds`` once that many have passed (``>=``), and
so are one request over ``request_seconds`` and one call over ``tool_seconds``; what a request may take at worst, its
answer included, must fit under ``tokens`` and ``cost_usd`` (``<=``).
"""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, Final, Literal

from traced_loop.closed_words import BudgetOutcome
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import amount, count, shown_value
from traced_loop.outcomes import STOP_RANK, StopReason
from traced_loop.run_result import Headroom, Usage

Limit = Literal["steps", "tool_calls", "seconds", "tokens", "cost_usd"]
"""The limits that a run as a whole can reach; their names are those of ``Budget`` and ``Usage``."""

LIMITS: Final[tuple[Limit, ...]] = ("steps", "tool_calls", "seconds", "tokens", "cost_usd")

EACH: Final = ("request_seconds", "tool_seconds")
"""The limits of one request and of one call: what is used of them is the longest one; a run as a whole comes no nearer
to them."""

LEAST_USD: Final = Decimal("0.000001")
"""Of a limit on cost: spans show costs in whole millionths of a USD."""
MOST_USD: Final = Decimal(10**12)
"""Of a limit on cost: in millionths it is still an integer of 64 bits."""

SHARED_PREFIX: Final = "shared."
"""Before the name of a limit that belongs to a shared budget: ``shared.tokens``."""

STOP_OF: Final[Mapping[Limit, StopReason]] = {
    "steps": StopReason.MAX_STEPS_EXCEEDED,
    "tool_calls": StopReason.TOOL_BUDGET_EXCEEDED,
    "seconds": StopReason.DEADLINE_EXCEEDED,
    "tokens": StopReason.TOKEN_BUDGET_EXCEEDED,
    "cost_usd": StopReason.COST_BUDGET_EXCEEDED,
}

WRITE_PART: Final = 0.5
"""Of a run's ``seconds``, what one write without a timeout of its own may take: it starts in the first half, and is
never given the last moments of a run, which would leave its outcome unknown."""


@frozen_value
class Budget:
    """The limits of one run; None means no limit, where it is allowed.

    Attributes:
        steps: model requests with the handling of their calls.
        tool_calls: executed calls.
        tool_seconds: one call, unless the tool declares its own timeout; a write has half of ``seconds`` at most.
        request_seconds: one model request, attempts included.
        seconds: the whole run, on a clock that never jumps; waits for a confirmation are left out.
        tokens: input and output together, over the whole run.
        cost_usd: USD over the whole run; a model without a known price is refused before the run.
        warn_at: part of a limit from which a check says ``warning``, once for each limit, above 0 and at most 1; None
            for no warnings.
        last_request: when ``steps``, ``tool_calls``, ``tokens`` or ``cost_usd`` stop the run, one more request without
            tools lets the model say how far it got, as ``RunResult.partial``. It is no step; the tokens and the cost
            that it may take are set aside beforehand.
    """

    steps: int | None = 8
    tool_calls: int | None = 32
    tool_seconds: float = 30.0
    request_seconds: float = 120.0
    seconds: float | None = 300.0
    tokens: int | None = 200_000
    cost_usd: Decimal | float | str | None = None
    warn_at: float | None = 0.8
    last_request: bool = False

    def __post_init__(self) -> None:
        """Refuse limits that make no sense, and those that arithmetic cannot hold.

        Counts go from 1 to ``MOST_COUNT``, seconds from ``LEAST_AMOUNT`` to ``MOST_AMOUNT``, ``cost_usd`` from
        ``LEAST_USD`` to ``MOST_USD``, all included.

        Raises:
            UsageError: a limit is outside of these, a count is not whole, or a field that needs a number has none.
        """
        if self.cost_usd is not None:
            object.__setattr__(self, "cost_usd", _decimal(self.cost_usd))
        for name in ("steps", "tool_calls", "tokens"):
            count(name, getattr(self, name), of="Budget", or_none=True)
        amount("seconds", self.seconds, of="Budget", or_none=True)
        for name in EACH:
            amount(name, getattr(self, name), of="Budget")
        amount("warn_at", self.warn_at, of="Budget", or_none=True, most=1)

    def limit(self, name: Limit) -> float | None:
        """The number behind a limit, or None; counts are integers, since not every one of them is a float."""
        value: Any = getattr(self, name)
        return float(value) if isinstance(value, Decimal) else value


@frozen_value
class Reserve:
    """What is about to be spent at worst, as far as that can be known; or what was.

    Attributes:
        steps: a request makes one.
        tool_calls: calls of a batch that may run.
        tokens: input and the longest answer together.
        cost_usd: what they cost.
    """

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    def plus(self, other: "Reserve") -> "Reserve":
        """Both together."""
        return Reserve(
            steps=self.steps + other.steps,
            tool_calls=self.tool_calls + other.tool_calls,
            tokens=self.tokens + other.tokens,
            cost_usd=self.cost_usd + other.cost_usd,
        )

    def minus(self, other: "Reserve") -> "Reserve":
        """What is left without the other."""
        return Reserve(
            steps=self.steps - other.steps,
            tool_calls=self.tool_calls - other.tool_calls,
            tokens=self.tokens - other.tokens,
            cost_usd=self.cost_usd - other.cost_usd,
        )


def spent(usage: Usage) -> Reserve:
    """The part of a usage that limits count, as such an amount."""
    return Reserve(steps=usage.steps, tool_calls=usage.tool_calls, tokens=usage.tokens, cost_usd=usage.charged_usd)


NOTHING: Final = Reserve()


@frozen_value
class BudgetCheck:
    """The verdict of one comparison.

    Attributes:
        outcome: ``ok``, ``warning`` where a limit is first seen from its ``warn_at`` on, ``exceeded``.
        exceeded: the limit that refuses, by the precedence of stops; None unless exceeded.
        next: the limit of which the largest part is spent; None without limits.
        fractions: spent part of each limit that is set.
        warned: the limits that the warning is about, or would be.
    """

    outcome: BudgetOutcome
    exceeded: Limit | None
    next: Limit | None
    fractions: Mapping[Limit, float]
    warned: tuple[Limit, ...] = ()


def check(
    budget: Budget, usage: Usage, reserve: Reserve | None = None, warned_of: Collection[Limit] = ()
) -> BudgetCheck:
    """Compare usage and what is about to be spent with every limit.

    With a reserve this is an admission: a limit refuses when usage and reserve together would pass it. Without one
    it compares what was spent: a limit is exceeded only when it was passed. ``warned_of`` are the limits of which a
    check has warned before.
    """
    over = refusing(budget, usage, reserve)
    exceeded: Limit | None = next((name for name in _BY_PRECEDENCE if name in over), None) if over else None
    fractions = _fractions(budget, usage)
    nearest = max(fractions, key=lambda name: fractions[name], default=None)
    warned: tuple[Limit, ...] = ()
    if budget.warn_at is not None:
        # Nearly all checks are far from every warning: floats can tell that, and near one exact numbers do.
        close = budget.warn_at * _FAR
        near: list[Limit] = [name for name in LIMITS if name not in over and fractions.get(name, 0.0) >= close]
        warned = tuple(name for name in near if name not in warned_of and _is_near(name, budget, usage))
    outcome: BudgetOutcome = "exceeded" if exceeded else "warning" if warned else "ok"
    return BudgetCheck(outcome=outcome, exceeded=exceeded, next=nearest, fractions=fractions, warned=warned)


def refusing(budget: Budget, usage: Usage, reserve: Reserve | None = None) -> frozenset[Limit]:
    """Every limit that ``check`` would find exceeded."""
    return frozenset([name for name in LIMITS if _refuses(name, budget, usage, reserve)])


def headroom(budget: Budget, usage: Usage) -> dict[str, Headroom]:
    """Limit, used and remaining of every limit that is set; counts stay integers.

    Of the limits of one request and of one call the longest one counts.
    """
    found: dict[str, Headroom] = {}
    for name in LIMITS:
        limit = budget.limit(name)
        if limit is not None:
            number = float if name in {"seconds", "cost_usd"} else int
            used = _used(name, usage)
            found[name] = Headroom(limit=number(limit), used=number(used), remaining=number(max(0, limit - used)))
    for each in EACH:
        most, longest = float(getattr(budget, each)), float(getattr(usage, each))
        found[each] = Headroom(limit=most, used=longest, remaining=max(0.0, most - longest))
    return found


_FAR: Final = 1 - 1e-9
"""Below this part of a warning's threshold no rounding of a float matters."""
_BY_PRECEDENCE: Final[tuple[Limit, ...]] = tuple(sorted(LIMITS, key=lambda name: STOP_RANK[STOP_OF[name]]))


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
    return bool(used + more > limit)


def _is_near(name: Limit, budget: Budget, usage: Usage) -> bool:
    """Whether a warning is due, in exact numbers where the limit has them."""
    limit: Any = getattr(budget, name)
    if limit is None or budget.warn_at is None:
        return False
    used = Decimal(str(usage.charged_usd if name == "cost_usd" else getattr(usage, name)))
    return used >= Decimal(str(limit)) * Decimal(str(budget.warn_at))


def _used(name: Limit, usage: Usage) -> float:
    # What counts against the cost limit is never unknown: where the bill is, it is an estimate.
    return float(usage.charged_usd) if name == "cost_usd" else getattr(usage, name)


def _fractions(budget: Budget, usage: Usage) -> dict[Limit, float]:
    return {name: _used(name, usage) / limit for name in LIMITS if (limit := budget.limit(name)) is not None}


_PLAIN_CHARACTERS: Final = 80
"""Of a number that is shown without the marks of Python; a longer one is cut, with them."""


def _decimal(value: Decimal | float | str) -> Decimal:
    try:
        number = Decimal(str(value))
    except (ArithmeticError, ValueError):
        number = Decimal("NaN")
    if not number.is_finite() or not LEAST_USD <= number <= MOST_USD:
        said = f"must be an amount of more than 0 USD, from {LEAST_USD} to {MOST_USD:,}"
        shown = shown_value(value)
        plain = number if number.is_finite() and len(shown) < _PLAIN_CHARACTERS else shown
        raise UsageError(f"Budget: cost_usd={shown} {said}, or None for no limit", typed=f"cost_usd {plain}: {said}")
    return number
