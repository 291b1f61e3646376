"""One budget for several runs of a process: what one has reserved, another cannot spend.

A run reserves what its next request or batch may take at worst, and settles it with what was billed; what nobody can
know beforehand (tokens beyond an estimate of the input, an answer longer than its cap) is counted when it is known.
Boundaries are those of ``Budget``.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from traced_loop.errors import UsageError
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.frozen_value import frozen_value
from traced_loop.rules.budget import LIMITS, NOTHING, Budget, BudgetCheck, Limit, Reserve, check, spent
from traced_loop.run_result import Headroom, Usage

_NAME_CHARACTERS: Final = 64


@frozen_value
class Holding:
    """One limit of a shared budget at one moment, all runs together; counts are integers."""

    limit: float
    used: float
    reserved: float


class SharedBudget:
    """Limits that several runs share: of a team, of a day, of a batch of tasks. Safe for threads and tasks.

    It lives in this process and begins with nothing spent; a forked child goes on with a copy of its own. A run that
    cannot reserve what it needs does not wait for others: it stops as at a limit of its own.
    """

    def __init__(
        self,
        *,
        name: str = "shared",
        steps: int | None = None,
        tool_calls: int | None = None,
        tokens: int | None = None,
        cost_usd: Decimal | float | str | None = None,
        warn_at: float | None = 0.8,
    ) -> None:
        """Set the limits.

        Args:
            name: what stop details and spans call it; no content.
            steps: model requests with the handling of their calls.
            tool_calls: executed calls.
            tokens: input and output together.
            cost_usd: USD; a model without a known price is refused before its run.
            warn_at: as in ``Budget``: one run is told, once for each limit.

        Raises:
            UsageError: no limit at all, one that makes no sense, or a name that is none.
        """
        if not isinstance(name, str) or not name.strip() or len(name) > _NAME_CHARACTERS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"SharedBudget: name={name!r} must be a text of 1 to {_NAME_CHARACTERS} characters")
        if steps is None and tool_calls is None and tokens is None and cost_usd is None:
            raise UsageError("SharedBudget: no limit is set: write tokens=1_000_000, for example")
        self.name: Final = name
        self.limits: Final = Budget(
            steps=steps, tool_calls=tool_calls, tokens=tokens, cost_usd=cost_usd, seconds=None, warn_at=warn_at
        )
        self._lock = ForkSafeLock()
        self._spent = NOTHING
        self._reserved = NOTHING
        self._warned: set[Limit] = set()

    @property
    def spent(self) -> Reserve:
        """What has been settled by now, all runs together."""
        return self._spent

    @property
    def reserved(self) -> Reserve:
        """What runs that are under way may still spend at worst."""
        return self._reserved

    def holdings(self) -> Mapping[Limit, Holding]:
        """Every limit that is set, at one moment."""
        with self._lock:
            used, held = self._spent, self._reserved
        return {
            name: Holding(limit=limit, used=_number(getattr(used, name)), reserved=_number(getattr(held, name)))
            for name in LIMITS
            if (limit := self.limits.limit(name)) is not None
        }

    def headroom(self) -> dict[str, Headroom]:
        """Limit, used and what could be reserved of every limit that is set; counts stay integers."""
        found: dict[str, Headroom] = {}
        for name, held in self.holdings().items():
            number = float if name == "cost_usd" else int
            remaining = max(0, held.limit - held.used - held.reserved)
            found[name] = Headroom(limit=number(held.limit), used=number(held.used), remaining=number(remaining))
        return found

    def share(self, before: Usage | None = None) -> "Share":
        """The part of a run; what it has spent ``before`` is not counted here."""
        return Share(self, NOTHING if before is None else spent(before))

    def settle(self, before: "Parts", after: "Parts") -> None:
        """Replace what one run has spent and reserved. Called by its share."""
        with self._lock:
            self._replace(before, after)

    def hold(self, before: "Parts", after: "Parts", keep: Reserve, *, take: bool = True) -> BudgetCheck:
        """The same, but reserve only ``keep`` where a limit refuses the rest, or where it is only asked for."""
        with self._lock:
            self._replace(before, replace(after, reserved=NOTHING))
            taken = _usage(self._spent.plus(self._reserved))
            verdict = check(self.limits, taken, after.reserved)
            taken_now = take and verdict.exceeded is None
            self._reserved = self._reserved.plus(after.reserved if taken_now else keep)
            return self._compared(None if verdict.exceeded is None else verdict)

    def compare(self) -> BudgetCheck:
        """What was spent against the limits."""
        with self._lock:
            return self._compared(None)

    def taken(self, own: Reserve) -> Usage:
        """What was spent and what other runs have reserved, for a run that has ``own`` reserved."""
        with self._lock:
            return _usage(self._spent.plus(self._reserved).minus(own))

    def _replace(self, before: "Parts", after: "Parts") -> None:
        self._spent = self._spent.plus(after.spent.minus(before.spent))
        self._reserved = self._reserved.plus(after.reserved.minus(before.reserved))

    def _compared(self, refused: BudgetCheck | None) -> BudgetCheck:
        found = check(self.limits, _usage(self._spent), None, self._warned)
        if refused is not None:
            warned = tuple(name for name in found.warned if name != refused.exceeded)
            found = replace(found, outcome="exceeded", exceeded=refused.exceeded, warned=warned)
        self._warned.update(found.warned)
        return found


@frozen_value
class Parts:
    """What one run has spent of a shared budget, and what it has reserved."""

    spent: Reserve = NOTHING
    reserved: Reserve = NOTHING


class Share:
    """One run's part of a shared budget; used by one run at a time, as its state is."""

    def __init__(self, budget: SharedBudget, before: Reserve = NOTHING) -> None:
        self.budget: Final = budget
        self._parts = Parts(spent=before)

    def taken(self) -> Usage:
        """What this run cannot reserve: spent by anybody, or reserved by others."""
        return self.budget.taken(self._parts.reserved)

    def hold(self, usage: Usage, reserve: Reserve, keep: Reserve = NOTHING, *, take: bool = True) -> BudgetCheck:
        """Count what the run has spent by now, and reserve this in place of what it had reserved.

        Where a limit refuses it, only ``keep`` is left reserved, which must be already; so it is where ``take`` is
        False, for a run that a limit of its own refuses and that asks what else would.
        """
        after = Parts(spent=spent(usage), reserved=reserve)
        verdict = self.budget.hold(self._parts, after, keep, take=take)
        self._parts = after if take and verdict.exceeded is None else replace(after, reserved=keep)
        return verdict

    def settle(self, usage: Usage, keep: Reserve = NOTHING) -> BudgetCheck:
        """Count what the run has spent by now, and leave only ``keep`` reserved, which must be reserved already."""
        after = Parts(spent=spent(usage), reserved=keep)
        self.budget.settle(self._parts, after)
        self._parts = after
        return self.budget.compare()


def _usage(amounts: Reserve) -> Usage:
    return Usage(
        steps=amounts.steps, tool_calls=amounts.tool_calls, tokens=amounts.tokens, charged_usd=amounts.cost_usd
    )


def _number(spent_or_held: Decimal | int) -> float:
    return float(spent_or_held) if isinstance(spent_or_held, Decimal) else spent_or_held
