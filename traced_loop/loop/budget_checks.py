"""The limits of a run, its own and those it shares: asked before each request and batch, compared after each step.

Opens one ``traced_loop.check_budget`` span per check, and stops the run where a limit refuses. What is reserved in a
shared budget is settled by the next check, and by ``close`` on every way out of a run.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, cast

from traced_loop import names
from traced_loop.closed_words import BudgetOutcome, BudgetPhase
from traced_loop.events import BudgetChecked, BudgetWarned, Event
from traced_loop.loop.admission import Admission, Expected, Side, admit
from traced_loop.loop.repetition_marks import repetition_marks
from traced_loop.loop.run_state import RunState
from traced_loop.outcomes import STOP_RANK, StopReason
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.budget import (
    NOTHING,
    SHARED_PREFIX,
    STOP_OF,
    Budget,
    BudgetCheck,
    Limit,
    Reserve,
    check,
    refusing,
    spent,
)
from traced_loop.rules.pricing import microusd
from traced_loop.rules.repetition_detector import StepFound
from traced_loop.rules.shared_budget import Share
from traced_loop.run_result import Usage
from traced_loop.telemetry.spans import Telemetry

_RESERVED: Final = (names.BUDGET_RESERVED_TOKENS, names.BUDGET_RESERVED_MICROUSD, names.BUDGET_RESERVED_CALLS)
_SETTLED: Final = (names.BUDGET_SETTLED_TOKENS, names.BUDGET_SETTLED_MICROUSD, names.BUDGET_SETTLED_CALLS)
_KEPT: Final = (names.BUDGET_KEPT_TOKENS, names.BUDGET_KEPT_MICROUSD, "")
_SHORTER: Final = frozenset[Limit]({"tokens", "cost_usd"})
"""Limits that another run can have taken room of since a request was fitted into it: it is fitted again."""


class BudgetChecks:
    """Asks the limits of the runs of one loop; what it knows of a run is in the run's state."""

    def __init__(self, budget: Budget, telemetry: Telemetry, emit: Callable[[Event], None]) -> None:
        self._budget = budget
        self._telemetry = telemetry
        self._emit = emit

    def request(self, state: RunState, expected: Expected) -> Admission | None:
        """Reserve a request; None when a limit refuses it, which stops the run unless the request is its last."""
        usage = state.before = state.usage()
        state.reserved = NOTHING
        admission, own, shared = self._admitted(state, expected, usage)
        found = _Found(own, shared)
        reserved = self._amounts(_RESERVED, admission.reserve, state)
        kept = self._amounts(_KEPT, admission.kept, state)
        seconds = {names.BUDGET_RESERVED_SECONDS: _rounded(self.request_seconds(state))}
        mark = {names.LAST_REQUEST: expected.last or None, names.BUDGET_EXPECTED_TOKENS: expected.input_tokens}
        more = {**mark, **reserved, **kept, **seconds}
        self._show(state, "request", found, usage, more, decides=not expected.last)
        if found.refused:
            return None
        state.reserved, state.kept = admission.reserve, admission.kept
        return admission

    def batch(self, state: RunState, calls: int, seconds: float, call_ids: Sequence[str]) -> bool:
        """Reserve a batch of so many calls that may take so many seconds; False when a limit refuses it."""
        reserve, usage = Reserve(tool_calls=calls), state.usage()
        own = check(self._budget, usage, reserve, state.warned)
        shared = self._held(state, reserve, own, usage)
        found = _Found(own, shared)
        left = self.seconds_left(state)
        attributes = {
            names.CALL_IDS: ",".join(call_ids[: names.MAX_CALL_IDS]) or None,
            **self._amounts(_RESERVED, reserve, state),
            names.BUDGET_RESERVED_SECONDS: _rounded(seconds if left is None else min(left, seconds)),
        }
        self._show(state, "batch", found, usage, attributes)
        if not found.refused:
            state.reserved = state.reserved.plus(reserve)
        return not found.refused

    def step(self, state: RunState, *, last: bool = False) -> None:
        """Settle a step, and compare what was spent with every limit."""
        usage = state.usage()
        own = check(self._budget, usage, None, state.warned)
        shared = state.share.settle(usage, state.kept) if state.share is not None else None
        settled = self._amounts(_SETTLED, spent(usage).minus(spent(state.before)), state, zero=True)
        seconds = {names.BUDGET_SETTLED_SECONDS: _rounded(usage.seconds - state.before.seconds)}
        reserved = self._amounts(_RESERVED, state.reserved, state)
        repeated, state.step_found = state.step_found, StepFound()
        marks = repetition_marks(repeated)
        attributes = {names.LAST_REQUEST: last or None, **reserved, **settled, **seconds, **marks}
        found = _Found(own, shared)
        self._show(state, "step", found, usage, attributes, decides=not last, repeated=repeated.gravest)

    @staticmethod
    def close(state: RunState) -> None:
        """Settle what the run has spent, and leave nothing reserved. Raises nothing."""
        state.kept = NOTHING
        if state.share is not None:
            state.share.settle(state.usage())
            state.shared_rooms = state.share.budget.headroom()

    def seconds_left(self, state: RunState) -> float | None:
        """Active seconds that the run has left, or None without such a limit."""
        limit = self._budget.seconds
        return None if limit is None else max(0.0, limit - state.active_seconds())

    def request_seconds(self, state: RunState) -> float:
        """Seconds that a request may take now."""
        left, most = self.seconds_left(state), self._budget.request_seconds
        return most if left is None else min(left, most)

    def _admitted(
        self, state: RunState, expected: Expected, usage: Usage
    ) -> tuple[Admission, BudgetCheck, BudgetCheck | None]:
        share = state.share
        while True:
            sides, taken = [Side(budget=self._budget, usage=usage)], usage
            if share is not None:
                taken = share.taken()
                sides.append(Side(budget=share.budget.limits, usage=taken))
            admission = admit(sides, expected)
            need = admission.reserve.plus(admission.kept)
            own = check(self._budget, usage, need, state.warned)
            if share is None:
                return admission, own, None
            if own.exceeded is not None:  # the shared one may refuse too, and for what ranks higher
                return admission, own, share.hold(usage, need, state.kept, take=False)
            shared = share.hold(usage, need, state.kept)
            if shared.exceeded not in _SHORTER or shared.exceeded in refusing(share.budget.limits, taken, need):
                return admission, own, shared

    @staticmethod
    def _held(state: RunState, reserve: Reserve, own: BudgetCheck, usage: Usage) -> BudgetCheck | None:
        share = state.share
        if share is None:
            return None
        if own.exceeded is not None:
            return share.hold(usage, reserve.plus(state.kept), state.kept, take=False)
        shared = share.hold(usage, reserve.plus(state.kept), state.kept)
        if shared.exceeded in _SHORTER and state.kept is not NOTHING:
            # More was billed than was reserved: there is no last request any more.
            state.kept = NOTHING
            shared = share.hold(usage, reserve)
        return shared

    def _show(
        self,
        state: RunState,
        phase: BudgetPhase,
        found: "_Found",
        usage: Usage,
        more: Mapping[str, Any],
        *,
        decides: bool = True,
        repeated: Repetition | None = None,
    ) -> None:
        """Show a check, and stop the run where a limit refuses and the check decides."""
        stop = self._stop(state, found) if decides else None
        first = state.call_spans[repeated.first] if repeated is not None else None
        if repeated is not None and repeated.reaction == "stop" and state.stop is StopReason.REPETITION_DETECTED:
            stop = state.stop
        # A last request may be cancelled: whether this limit stops the run is known after it.
        waits = stop is not None and self._budget.last_request
        attributes = {
            names.BUDGET_PHASE: phase,
            names.BUDGET_OUTCOME: found.outcome,
            names.BUDGET_EXCEEDED: found.exceeded,
            names.BUDGET_NEXT: found.next,
            names.BUDGET_WARNED: ",".join(found.warned) or None,
            **more,
            **_shared_attributes(state.share),
            names.RUN_STOP_REASON: None if waits else stop,
        }
        links = () if first is None else (first,)
        with self._telemetry.span(names.CHECK_BUDGET, attributes, links=links, brief=True) as span:
            if waits:
                span.hold()
        if waits and stop is not None:
            state.undecided.append((span, stop))
        state.warned.update(found.own.warned)
        self._tell(phase, found, usage)

    def _tell(self, phase: BudgetPhase, found: "_Found", usage: Usage) -> None:
        event = BudgetChecked(phase=phase, outcome=found.outcome, usage=usage, fractions=found.fractions)
        self._emit(event)
        for limit in found.warned:
            self._emit(BudgetWarned(limit=limit, fraction=found.fractions[limit]))

    def _stop(self, state: RunState, found: "_Found") -> StopReason | None:
        """Stop the run for what was found; the reason, unless something that ranks above it stopped the run."""
        if found.own.exceeded is not None:
            limit = self._budget.limit(found.own.exceeded)
            state.stop_for(STOP_OF[found.own.exceeded], f"the limit {found.own.exceeded}={limit:.12g} allows no more")
        if found.shared is not None and found.shared.exceeded is not None and state.share is not None:
            name, budget = found.shared.exceeded, state.share.budget
            said = (
                f"the shared budget {budget.name} allows no more: its limit is {name}={budget.limits.limit(name):.12g}"
            )
            state.stop_for(STOP_OF[name], said)
        return state.stop if found.refused and state.stop in found.stops else None

    def _amounts(
        self, keys: tuple[str, str, str], amounts: Reserve, state: RunState, *, zero: bool = False
    ) -> dict[str, Any]:
        shared = state.share.budget.limits if state.share is not None else None
        limited = self._budget.cost_usd is not None or (shared is not None and shared.cost_usd is not None)
        tokens, micro, calls = keys
        found: dict[str, Any] = {tokens: amounts.tokens}
        if limited:
            found[micro] = microusd(amounts.cost_usd)
        if calls:
            found[calls] = amounts.tool_calls
        return {key: value for key, value in found.items() if value or zero}


class _Found:
    """What both budgets say to one question."""

    def __init__(self, own: BudgetCheck, shared: BudgetCheck | None) -> None:
        self.own, self.shared = own, shared
        self.exceeded: str | None
        self.stops: Collection[StopReason]
        self.fractions: Mapping[str, float]
        self.next: str | None
        self.warned: tuple[str, ...]
        self.outcome: BudgetOutcome
        if shared is None and own.exceeded is None:  # nearly always
            self.refused, self.exceeded, self.stops = False, None, ()
            self.next, self.warned, self.outcome = own.next, own.warned, own.outcome
            self.fractions = cast("Mapping[str, float]", own.fractions)
            return
        both: list[tuple[BudgetCheck, str]] = [(own, "")]
        if shared is not None:
            both.append((shared, SHARED_PREFIX))
        over: list[tuple[Limit, str]] = [
            (verdict.exceeded, prefix) for verdict, prefix in both if verdict.exceeded is not None
        ]
        over.sort(key=lambda each: STOP_RANK[STOP_OF[each[0]]])
        self.refused = bool(over)
        self.exceeded = f"{over[0][1]}{over[0][0]}" if over else None
        self.stops = {STOP_OF[name] for name, _ in over}
        fractions = self.fractions = {
            f"{prefix}{name}": part for verdict, prefix in both for name, part in verdict.fractions.items()
        }
        self.next = max(fractions, key=fractions.__getitem__, default=None)
        self.warned = tuple(f"{prefix}{name}" for verdict, prefix in both for name in verdict.warned)
        self.outcome = "exceeded" if over else "warning" if self.warned else "ok"


def _shared_attributes(share: Share | None) -> dict[str, Any]:
    if share is None:
        return {}
    found: dict[str, Any] = {names.BUDGET_SHARED_NAME: share.budget.name}
    for name, holding in share.budget.holdings().items():
        number = float if name == "cost_usd" else int
        for part in ("limit", "used", "reserved"):
            found[f"{names.BUDGET_SHARED_PREFIX}{name}.{part}"] = number(getattr(holding, part))
    return found


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
