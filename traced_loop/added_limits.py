"""The limits of a run that goes on: those that it had, with what is added, and whether they leave it anything to do."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from traced_loop.earlier_run import EarlierRun
from traced_loop.errors import UsageError
from traced_loop.rules.budget import LIMITS, STOP_OF, Budget, Limit, Reserve, refusing
from traced_loop.run_result import Usage

_SHARED: Final = "the shared budget"
"""What the detail of a stop for a limit begins with that is not the run's own."""


def raised_limits(earlier: EarlierRun, budget: Budget, add: Mapping[str, Any]) -> Budget:
    """The limits that the run had, with what is added; those of one request and of one call are the loop's.

    Raises:
        UsageError: no limit of the run, or no number.
    """
    own = earlier.limits()
    values: dict[str, Any] = {name: own.get(name) for name in LIMITS} if earlier.root is not None else {}
    for name in ("steps", "tool_calls", "tokens"):
        if values.get(name) is not None:
            values[name] = round(values[name])
    for name, amount in add.items():
        if name not in LIMITS:
            raise UsageError(f"add: there is no limit {name!r}: the limits of a run are {', '.join(LIMITS)}")
        before = values.get(name, getattr(budget, name))
        if before is None:
            said = f"the run {earlier.run_id} has no limit {name}, so nothing can be added to it"
            raise UsageError(f"add: {said}", typed=f"--add {name}={amount}: {said}")
        Budget(**{name: amount})  # an amount is as good as a limit
        values[name] = Decimal(str(before)) + Decimal(str(amount)) if name == "cost_usd" else before + amount
    return replace(budget, **values)


def check_limits(earlier: EarlierRun, budget: Budget, usage: Usage, *, added: Collection[str], takes_up: bool) -> None:
    """Check that a run does not stop again at once.

    Args:
        earlier: the run.
        budget: its limits, with what was added.
        usage: what it has spent.
        added: the limits to which something was added.
        takes_up: whether there are calls to be done first; the next request is then admitted as any other.

    Raises:
        UsageError: it would; the message says what to add.
    """
    short: Limit | None = _stopped_for(earlier, budget, added)
    if short is None and not takes_up:
        tokens = earlier.progress.get("context_tokens")
        need = Reserve(steps=1, tokens=1 + (tokens if isinstance(tokens, int) else 0))
        short = min(refusing(budget, usage, need), key=LIMITS.index, default=None)
    if short is not None:
        raise _exhausted(earlier.run_id, short, usage, budget)


def _stopped_for(earlier: EarlierRun, budget: Budget, added: Collection[str]) -> Limit | None:
    """The limit of its own that stopped it, and to which nothing was added."""
    if (earlier.run.stop_detail or "").startswith(_SHARED):
        return None
    due: list[Limit] = [name for name in LIMITS if earlier.stop_reason == STOP_OF[name] and name not in added]
    return next((name for name in due if budget.limit(name) is not None), None)


def _exhausted(run_id: str, limit: Limit, usage: Usage, budget: Budget) -> UsageError:
    spent = usage.charged_usd if limit == "cost_usd" else getattr(usage, limit)
    used, most = f"{float(spent):.12g}", f"{budget.limit(limit):.12g}"
    more = {"steps": 5, "tool_calls": 10, "seconds": 60, "tokens": 20_000, "cost_usd": 0.1}[limit]
    said = (
        f"the run {run_id} can do no more within its limit {limit}={most} ({used} used): add to it, for example"
        f" --add {limit}={more}"
    )
    return UsageError(f"{said} (add={{{limit!r}: {more}}})", typed=said)
