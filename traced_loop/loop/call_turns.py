"""One authorised call at its turn: answered from what is known of it, asked about, waited for, carried out.

Whatever happens, what comes of it is its result; a stop that follows goes to the run's state.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from traced_loop import names
from traced_loop.call_ledger import Claim, Standing, Verdict
from traced_loop.events import Event
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.batch_parts import BatchParts
from traced_loop.loop.compensation import Done
from traced_loop.loop.guarded_ledger import LedgerFailed
from traced_loop.loop.kept_steps import KeptTurn
from traced_loop.loop.policy import Opinion
from traced_loop.loop.policy_engine import REPEATED_WRITE, pending
from traced_loop.loop.run_state import RunState
from traced_loop.loop.serial_groups import GroupTurn
from traced_loop.loop.tool_executor import Executed, Order
from traced_loop.loop.validator import ValidCall
from traced_loop.loop.write_claims import InTheWay, in_the_way, unclaimed
from traced_loop.messages import ToolResult
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.rules.normalised_result import normalised
from traced_loop.telemetry.type_names import type_name
from traced_loop.told import error_result

if TYPE_CHECKING:
    from traced_loop.telemetry.spans import Span


@frozen_value
class Begun:
    """When a batch began, and how long the run had waited for people by then."""

    seconds: float
    waited: float

    @classmethod
    def now(cls, state: RunState) -> "Begun":
        """The batch begins."""
        return cls(seconds=state.scope.clock.seconds(), waited=state.waited)

    def queued(self, state: RunState) -> dict[str, Any]:
        """How long a call has waited since for others, and for people."""
        waited = state.waited - self.waited
        queued = state.scope.clock.seconds() - self.seconds - waited
        return {
            names.SCHEDULE_QUEUED_MS: round(queued * 1000),
            names.SCHEDULE_WAITED_MS: round(waited * 1000) or None,
        }


class CallTurns:
    """The turns of the calls of one response."""

    def __init__(
        self,
        parts: BatchParts,
        state: RunState,
        seconds_left: Callable[[], float | None],
        emit: Callable[[Event], None],
    ) -> None:
        self._parts = parts
        self._state = state
        self._seconds_left = seconds_left
        self._emit = emit
        self.spans: dict[int, Span] = {}
        """The span of each call that was executed, by position."""
        self.running: set[int] = set()
        """Positions of the calls that run."""
        self.done: list[Done] = []
        """Writes that were done."""
        self._executed: dict[int, tuple[Executed, float | None]] = {}
        self._stops: dict[int, list[tuple[StopReason, str]]] = {}
        self.failed: list[int] = []
        """Positions of the calls that failed, or had no turn in their time."""

    async def take(
        self, position: int, valid: ValidCall, opinion: Opinion, schedule: Mapping[str, Any], begun: Begun
    ) -> ToolResult:
        """What comes of a call.

        Args:
            position: in its batch.
            valid: the call.
            opinion: the policy's.
            schedule: ``traced_loop.schedule.*`` attributes.
            begun: when the batch began.

        Raises:
            CancelledError: the run was cancelled; a call that was running is among ``running``.
        """
        steps, act = self._parts.steps, partial(self._take, position, valid, opinion, schedule, begun)
        came = await steps.turn(self._state, valid, act, partial(self._kept, position))
        return came if isinstance(came, ToolResult) else self._replayed(position, valid, opinion, came, schedule)

    async def _take(
        self, position: int, valid: ValidCall, opinion: Opinion, schedule: Mapping[str, Any], begun: Begun
    ) -> ToolResult:
        claims = self._parts.claims
        standing = await self._reconciled(valid, self._asked(valid, claims.standing))
        told = self._known(position, valid, standing, schedule)
        if told is None and opinion.decision is Decision.NEEDS_CONFIRMATION:
            told = self._too_late(valid, self._seconds_left())  # nobody is asked about what could not run then
            told = told or await self._confirmed(valid, opinion, schedule)
        if told is not None:
            return told
        turn = await self._turn(valid)
        if turn is None:
            self.failed.append(position)
            return self._blocked(valid)
        with turn:
            left = self._seconds_left()
            late = self._too_late(valid, left)
            if late is not None:
                return late
            valid, standing = self._claimed(valid)
            told = self._known(position, valid, standing, schedule)
            if told is not None:
                return told
            shown = {**schedule, **begun.queued(self._state)}
            order = self._order(
                valid, shown, left, claim=None if isinstance(standing, InTheWay) else standing.claim, turn=turn
            )
            return await self._carry_out(position, order)

    async def _carry_out(self, position: int, order: Order) -> ToolResult:
        state, valid = self._state, order.valid
        state.tool_calls += 1
        self.running.add(position)
        begun = state.scope.clock.seconds()
        executed = await self._parts.executor.execute(order)
        took = state.scope.clock.seconds() - begun if valid.tool.timeout is None else None  # else another limit's
        state.longest_tool = max(state.longest_tool, took or 0.0)
        self.running.discard(position)
        self.spans[position] = executed.span
        self._executed[position] = executed, took
        state.calls_seen.made(valid.identity, executed.span.id)
        outcome = executed.result.outcome
        if outcome is not Outcome.OK:
            state.failed_tool_calls += 1
        elif valid.tool.effect == "write":
            self.done.append(Done(valid=valid, executed=executed, claim=order.claim, positions=[position]))
        if outcome in {Outcome.ERROR, Outcome.TIMED_OUT}:
            self.failed.append(position)
        state.take(executed, valid.tool.name)
        return executed.result

    def _kept(self, position: int, result: ToolResult) -> KeptTurn:
        """What a process that runs the code again has to know of a call."""
        executed, took = self._executed.get(position, (None, None))
        stops = self._stops.get(position, ())
        if executed is None:
            return KeptTurn(outcome=result.outcome, content=result.content, stops=stops)
        detail = executed.detail
        if executed.raised is not None:
            detail = f"{type_name(executed.raised)} left {result.call.name}"
        shown = executed.span.record.attributes
        normal = normalised(executed.given) if names.RESULT_MASKED_FINGERPRINT in shown and executed.given else None
        return KeptTurn(
            outcome=result.outcome,
            content=result.content,
            ran=True,
            span=executed.span.id,
            marks={key: value for key, value in shown.items() if key.startswith(f"{names.SCOPE}.")},
            stops=stops if executed.stop is None else ((executed.stop, detail),),
            took=took,
            numbers=() if normal is None else normal.numbers,
        )

    def _replayed(
        self, position: int, valid: ValidCall, opinion: Opinion, kept: KeptTurn, schedule: Mapping[str, Any]
    ) -> ToolResult:
        """The result of a call whose turn was taken before, in the state as that left it."""
        state = self._state
        span = self._parts.steps.replayed(state, valid, kept, schedule)
        if kept.ran or kept.outcome is Outcome.REPLAYED:
            state.repetitions += state.calls_seen.seen(valid.identity) is not None
            state.calls_seen.made(valid.identity, span.id)
        if kept.ran:
            state.tool_calls += 1
            state.failed_tool_calls += kept.outcome is not Outcome.OK
            state.longest_tool = max(state.longest_tool, kept.took or 0.0)
            self.spans[position] = span
            state.trends.trend(valid.identity, str(kept.marks.get(names.RESULT_MASKED_FINGERPRINT)), kept.numbers)
        if kept.outcome in {Outcome.ERROR, Outcome.TIMED_OUT}:
            self.failed.append(position)
        if kept.outcome is Outcome.CONFIRMATION_REQUIRED:
            state.pending.append(pending(valid, opinion))
        for reason, detail in kept.stops:
            state.stop_for(reason, detail)
        if kept.stops:
            state.undecided.append((span, kept.stops[0][0]))
        return ToolResult(call=valid.call, outcome=kept.outcome, content=kept.content)

    def _stop_for(self, valid: ValidCall, reason: StopReason, detail: str) -> None:
        self._stops.setdefault(valid.call.index, []).append((reason, detail))
        self._state.stop_for(reason, detail)

    def _asked(self, valid: ValidCall, ask: Callable[[ValidCall], Standing]) -> Standing | InTheWay:
        """What is known of a call; or, where the ledger fails, why it does not run."""
        try:
            return ask(valid)
        except LedgerFailed as failed:
            return unclaimed(valid, failed)

    async def _reconciled(self, valid: ValidCall, standing: Standing | InTheWay) -> Standing | InTheWay:
        """The same, once its tool was asked about an earlier call of which nobody knows."""
        claims, number = self._parts.claims, standing.number if isinstance(standing, Standing) else None
        if number is None or valid.tool.reconcile is None:
            return standing
        seconds = self._parts.time_of(valid.tool, self._seconds_left())
        found = await self._parts.reconciliation.ask(valid, seconds, "earlier")
        if found.answer not in {"done", "not_done"}:
            return standing
        try:
            claims.resolve(valid, number, found.content, self._state.scope.clock.now_ns())
            return claims.standing(valid)
        except LedgerFailed as failed:
            return unclaimed(valid, failed)

    def _claimed(self, valid: ValidCall) -> tuple[ValidCall, Standing | InTheWay]:
        """The same, with the key under which the call may run, and its claim."""
        try:
            return self._parts.claims.begin(valid, undoable=self._parts.on_tool_error == "compensate")
        except LedgerFailed as failed:
            return valid, unclaimed(valid, failed)

    def _known(
        self, position: int, valid: ValidCall, standing: Standing | InTheWay, schedule: Mapping[str, Any]
    ) -> ToolResult | None:
        """The answer to a call of which something is known that keeps it from running; None where it may."""
        if isinstance(standing, InTheWay):
            return self.kept_back(valid, standing)
        state, end = self._state, standing.end
        if standing.state == "succeeded" and end is not None:
            repeat = state.calls_seen.seen(valid.identity)
            state.repetitions += repeat is not None
            result, span = self._parts.claims.replay(valid, end, schedule, state.scope.clock, repeat)
            state.calls_seen.made(valid.identity, span)
            for done in self.done:
                if done.executed.span.id == end.span:
                    done.positions.append(position)  # what becomes of that is true of this, too
            return result
        found = in_the_way(valid, standing)
        return None if found is None else self.kept_back(valid, found)

    def kept_back(self, valid: ValidCall, found: InTheWay) -> ToolResult:
        """The answer to a call that something keeps from running, shown; the run stops where it must."""
        if found.stop is not None:
            self._stop_for(valid, found.stop, found.detail)
        self._parts.policy.withdraw(valid, self._state.identity, found.result.outcome, found.stop)
        return found.result

    async def _confirmed(self, valid: ValidCall, opinion: Opinion, schedule: Mapping[str, Any]) -> ToolResult | None:
        """Ask about a call at its turn; None where it was approved."""
        state = self._state
        asking = self._parts.policy.confirm(valid, opinion, state.identity, state.scope.clock, schedule)
        confirmation = await state.person(asking)
        if confirmation.state in {"approved", "rejected"} and valid.write is not None:
            verdict: Verdict = "approved" if confirmation.state == "approved" else "rejected"
            self._parts.claims.ledger.decided(valid.write, verdict, confirmation.by or "a person")
        if confirmation.state == "approved":
            return None
        if confirmation.state == "rejected":
            return error_result(valid.call, Outcome.CONFIRMATION_REJECTED, "Rejected by a person. Do not repeat it.")
        state.pending.append(pending(valid, opinion))
        why = confirmation.detail or (opinion.reason if opinion.rule == REPEATED_WRITE else "")
        why = f": {why}" if why else ""
        self._stop_for(valid, StopReason.CONFIRMATION_REQUIRED, f"{valid.tool.name} waits for a confirmation{why}")
        return error_result(valid.call, Outcome.CONFIRMATION_REQUIRED, "Not run yet: it waits for a confirmation.")

    async def _turn(self, valid: ValidCall) -> GroupTurn | None:
        """A call's turn in its serial group; None where that was not free in the time that the call has."""
        seconds = self._parts.time_of(valid.tool, self._seconds_left())
        return await self._parts.groups.enter(valid.tool.serial_group, seconds)

    def _blocked(self, valid: ValidCall) -> ToolResult:
        """The time of a call was over before its group was free; it never ran, a write neither."""
        state, left = self._state, self._seconds_left()
        detail = f"another tool of the serial group {valid.tool.serial_group} still runs"
        stop = StopReason.TOOL_TIMEOUT if self._parts.stop_on_timeout else None
        if left is not None and left <= 0:
            stop = StopReason.DEADLINE_EXCEEDED
        if stop is not None:
            self._stop_for(valid, stop, f"{valid.tool.name} was not run: {detail}")
        self._parts.policy.withdraw(valid, state.identity, Outcome.TIMED_OUT, stop)
        return error_result(valid.call, Outcome.TIMED_OUT, f"Not run: {detail}.")

    def _too_late(self, valid: ValidCall, left: float | None) -> ToolResult | None:
        """The result of a call that the time left does not allow; None where it does."""
        state, tool, wanted = self._state, valid.tool, self._parts.timeout(valid.tool)
        if left is None or (left > 0 and (tool.effect == "read" or wanted <= left)):
            return None
        declared = "" if tool.timeout is None else " (its timeout=)"
        detail = f"{tool.name} may take {wanted:.3g} s{declared}, and the run has {left:.3g} s left"
        stop = StopReason.DEADLINE_EXCEEDED
        self._stop_for(valid, stop, detail)
        self._parts.policy.withdraw(valid, state.identity, Outcome.SKIPPED_BUDGET, stop)
        return error_result(valid.call, Outcome.SKIPPED_BUDGET, f"Not run: {detail}.")

    def _order(
        self,
        valid: ValidCall,
        schedule: Mapping[str, Any],
        left: float | None,
        *,
        claim: Claim | None,
        turn: GroupTurn,
    ) -> Order:
        state = self._state
        repeat = state.calls_seen.seen(valid.identity)
        state.repetitions += repeat is not None
        return Order(
            valid=valid,
            step=state.steps,
            agent=self._parts.agent,
            timeout=self._parts.time_of(valid.tool, left),
            clock=state.scope.clock,
            time_left=float("inf") if left is None else left,
            schedule=schedule,
            repeat=repeat,
            trends=state.trends,
            left_behind=state.left_behind,
            claim=claim,
            turn=turn,
            emit=self._emit,
        )
