"""The calls of one response, from proposal to answer: everything is validated and authorised before anything runs.

Whatever happens in between, each call ends with exactly one result, in call order.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from traced_loop import names
from traced_loop.events import CallFinished, Event
from traced_loop.loop.bounded_wait import cancel_all, result_of, start
from traced_loop.loop.call_end import cancelled_outcome
from traced_loop.loop.call_key import key_of
from traced_loop.loop.policy_engine import PolicyEngine, pending
from traced_loop.loop.run_state import RunState
from traced_loop.loop.scheduler import Group, Planned, plan
from traced_loop.loop.tool_executor import Executed, Order, ToolExecutor
from traced_loop.loop.validator import RefusedCall, Validated, Validator, ValidCall
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.rules.budget import Budget
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.type_names import type_name
from traced_loop.told import told_error

if TYPE_CHECKING:
    from traced_loop.loop.policy import Opinion
    from traced_loop.telemetry.spans import Span

_GROUP_SECONDS: Final = 5.0
"""How long cancelled calls may take together to end; each ends by itself within the executor's grace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchParts:
    """What a batch needs of its loop."""

    agent: str
    budget: Budget
    max_parallel: int
    validator: Validator
    policy: PolicyEngine
    executor: ToolExecutor
    fingerprints: Fingerprints


class Batch:
    """The calls of one response, and their results so far."""

    def __init__(
        self,
        parts: BatchParts,
        state: RunState,
        calls: Sequence[ToolCall],
        seconds_left: Callable[[], float | None],
        emit: Callable[[Event], None],
    ) -> None:
        self._parts = parts
        self._state = state
        self._calls = tuple(calls)
        self._seconds_left = seconds_left
        self._emit = emit
        self._verdicts: list[Validated] = []
        self._opinions: dict[int, Opinion] = {}
        self._results: dict[int, ToolResult] = {}
        self._running: set[int] = set()
        self.spans: dict[int, Span] = {}
        """The span of each call that was executed, by position."""

    @property
    def texts(self) -> list[str]:
        """The arguments as they go back to the provider, in call order; to be asked once all are validated."""
        return [verdict.text for verdict in self._verdicts]

    @property
    def open_calls(self) -> int:
        """Calls that may run."""
        return len(self._calls) - len(self._results)

    @property
    def seconds(self) -> float:
        """What they may take at most: groups run one after the other, the calls of one together."""
        return sum(max(self._timeout(self._valid(n)) for n in group.positions) for group in self.groups())

    @property
    def results(self) -> list[ToolResult]:
        """One result per call, in call order; to be asked once ``answer_the_rest`` was called."""
        return [self._results[position] for position in range(len(self._calls))]

    def validate(self) -> None:
        """Judge every call; the refused ones have their result."""
        for call in self._calls:
            self._verdicts.append(self._parts.validator.validate(call, self._state.calls_seen))
        for position, verdict in enumerate(self._verdicts):
            if isinstance(verdict, RefusedCall):
                self._state.repetitions += verdict.repeat is not None
                if verdict.stop is not None:
                    self._state.stop_for(verdict.stop, "the model called a tool that is not registered")
                self._put(position, verdict.result)
        if self._state.stop is not None:
            self.skip_rest(Outcome.SKIPPED_STOP, self._state.stop_detail)

    async def authorize(self) -> None:
        """Decide about every valid call; the denied ones have their result."""
        policy = self._parts.policy
        for position, given in self._open():
            valid = self._verdicts[position] = self._with_key(given)
            left = self._seconds_left()
            opinion = await policy.authorize(valid, self._state.identity, self._state.run_id, left)
            self._opinions[position] = opinion
            if opinion.decision is Decision.DENY:
                name = valid.tool.name
                if policy.stops_on_deny:
                    said = f"{name} was denied by the rule {opinion.rule}"
                    self._state.stop_for(StopReason.TOOL_NOT_ALLOWED, said)
                why = f"{name} is not permitted ({opinion.reason or opinion.rule}). Do not repeat it."
                self._refuse(position, Outcome.DENIED, why)
        if self._state.stop is not None:
            self.skip_rest(Outcome.SKIPPED_STOP, self._state.stop_detail)

    def groups(self) -> tuple[Group, ...]:
        """What may run, in the order in which it would, decided before any of it does."""
        return plan(
            [Planned(position=at, tool=valid.tool, asks=self._asks(at)) for at, valid in self._open()],
            self._parts.max_parallel,
        )

    def decided(self, position: int) -> tuple[Validated, "Opinion | None", ToolResult | None]:
        """What is known of one call: the verdict, the policy's opinion, and the result of what has ended."""
        return self._verdicts[position], self._opinions.get(position), self._results.get(position)

    async def execute(self) -> None:
        """Run what may run, group by group; a stop in one group keeps the later ones from running."""
        begun = self._state.scope.clock.seconds()
        for turn, group in enumerate(self.groups(), 1):
            if self._state.stop is not None:
                break
            await self._run_group(group, begun, turn)
        if self._state.stop is not None:
            self.skip_rest(Outcome.SKIPPED_STOP, self._state.stop_detail)

    def skip_rest(self, outcome: Outcome, why: str) -> None:
        """Answer every call that has no result yet with this outcome; shown on a span of its own."""
        for position, valid in self._open():
            self._parts.policy.withdraw(valid, self._state.identity, outcome)
            self._refuse(position, outcome, f"Not run: {why}.")

    def answer_the_rest(self) -> None:
        """The batch was left by an exception: answer what has no result. Tells nobody, raises nothing."""
        for position, call in enumerate(self._calls):
            if position in self._results:
                continue
            verdict = self._verdicts[position] if position < len(self._verdicts) else None
            if isinstance(verdict, RefusedCall):
                self._results[position] = verdict.result  # its span has said so already
            elif isinstance(verdict, ValidCall) and position in self._running:
                outcome = cancelled_outcome(verdict.tool.effect)
                maybe = " It may have been applied." if outcome is Outcome.UNKNOWN else ""
                self._state.failed_tool_calls += 1
                self._results[position] = _error(call, outcome, f"Cancelled while it ran.{maybe}")
            else:
                if isinstance(verdict, ValidCall):
                    self._parts.policy.withdraw(verdict, self._state.identity, Outcome.SKIPPED_STOP)
                else:
                    self._parts.validator.skip(call, Outcome.SKIPPED_STOP)
                self._results[position] = _error(call, Outcome.SKIPPED_STOP, "Not run: the run was ended.")

    async def _run_group(self, group: Group, begun: float, turn: int) -> None:
        schedule = {
            names.SCHEDULE_MODE: group.mode,
            names.SCHEDULE_REASON: group.reason,
            names.SCHEDULE_GROUP: turn,
        }
        if len(group.positions) == 1:
            await self._run_one(group.positions[0], schedule, begun)
            return
        tasks = [start(self._run_one(position, schedule, begun)) for position in group.positions]
        try:
            await asyncio.wait(tasks)
        except BaseException:
            await cancel_all(tasks, _GROUP_SECONDS)
            raise
        for _, error in map(result_of, tasks):
            if error is not None:
                raise error

    async def _run_one(self, position: int, schedule: Mapping[str, Any], begun: float) -> None:
        valid = self._valid(position)
        writes = self._parts.executor.writes
        if self._still_runs(position, valid, writes.in_the_way(valid)):
            return
        if self._asks(position) and not await self._confirmed(position, valid, schedule):
            return
        order = self._order(position, valid, schedule, begun)
        if order is None or self._still_runs(position, valid, writes.take(valid)):
            return
        self._state.tool_calls += 1
        self._running.add(position)
        begun = self._state.scope.clock.seconds()
        executed = await self._parts.executor.execute(order)
        if valid.tool.timeout is None:  # else the limit is not this call's
            self._state.longest_tool = max(self._state.longest_tool, self._state.scope.clock.seconds() - begun)
        self._running.discard(position)
        self._settle(position, valid, executed)

    def _still_runs(self, position: int, valid: ValidCall, outcome: Outcome | None) -> bool:
        """Whether a call cannot run because of an earlier one that still does; it has its result then."""
        if outcome is None:
            return False
        state, name, stop = self._state, valid.tool.name, None
        said = f"Not run: another call of {name} with the same key still runs."
        if outcome is Outcome.UNKNOWN:
            said = "Not run: an earlier try of it still runs, and may be applied. Do not repeat it."
            stop = StopReason.OUTCOME_UNKNOWN
            state.stop_for(stop, f"an earlier try of {name} still runs, and may be applied")
        self._parts.policy.withdraw(valid, state.identity, outcome, stop)
        self._refuse(position, outcome, said)
        return True

    def _settle(self, position: int, valid: ValidCall, executed: Executed) -> None:
        state = self._state
        if executed.stop is not None:
            state.undecided.append((executed.span, executed.stop))
        self.spans[position] = executed.span
        state.calls_seen.made(valid.identity, executed.span.id)
        if executed.result.outcome is not Outcome.OK:
            state.failed_tool_calls += 1
        if executed.raised is not None:
            state.leaving = state.leaving or executed.raised
            state.stop_for(StopReason.CANCELLED, f"{type_name(executed.raised)} left {valid.tool.name}")
        if executed.stop is not None:
            state.stop_for(executed.stop, executed.detail)
        self._put(position, executed.result)

    async def _confirmed(self, position: int, valid: ValidCall, schedule: Mapping[str, Any]) -> bool:
        """Ask about a call at its turn; its result is set unless it was approved."""
        state, opinion = self._state, self._opinions[position]
        clock, begun = state.scope.clock, state.scope.clock.seconds()
        try:
            confirmation = await self._parts.policy.confirm(valid, opinion, state.identity, clock, schedule)
        except BaseException:  # cancelled while a person was asked, or an approver that raises: it was a wait
            state.waited += clock.seconds() - begun
            raise
        state.waited += confirmation.waited
        if confirmation.state == "approved":
            return True
        if confirmation.state == "rejected":
            self._refuse(position, Outcome.CONFIRMATION_REJECTED, "Rejected by a person. Do not repeat it.")
            return False
        state.pending.append(pending(valid, opinion))
        why = f": {confirmation.detail}" if confirmation.detail else ""
        state.stop_for(StopReason.CONFIRMATION_REQUIRED, f"{valid.tool.name} waits for a confirmation{why}")
        self._refuse(position, Outcome.CONFIRMATION_REQUIRED, "Not run yet: it waits for a confirmation.")
        return False

    def _order(self, position: int, valid: ValidCall, schedule: Mapping[str, Any], begun: float) -> Order | None:
        """What to execute; None when the time left does not allow it."""
        state, tool = self._state, valid.tool
        wanted = self._timeout(valid)
        left = self._seconds_left()
        too_late = left is not None and (left <= 0 or (tool.effect == "write" and wanted > left))
        if too_late:
            detail = f"{tool.name} may take {wanted:.3g} s, and the run has {left:.3g} s left"
            state.stop_for(StopReason.DEADLINE_EXCEEDED, detail)
            stop = StopReason.DEADLINE_EXCEEDED
            self._parts.policy.withdraw(valid, state.identity, Outcome.SKIPPED_BUDGET, stop)
            self._refuse(position, Outcome.SKIPPED_BUDGET, f"Not run: {detail}.")
            return None
        repeat = state.calls_seen.seen(valid.identity)
        state.repetitions += repeat is not None
        return Order(
            valid=valid,
            step=state.steps,
            agent=self._parts.agent,
            timeout=wanted if left is None else min(wanted, left),
            clock=state.scope.clock,
            time_left=float("inf") if left is None else left,
            schedule={
                **schedule,
                names.SCHEDULE_QUEUED_MS: round((state.scope.clock.seconds() - begun) * 1000),
            },
            repeat=repeat,
            trends=state.trends,
            left_behind=state.left_behind,
        )

    def _with_key(self, valid: ValidCall) -> ValidCall:
        """The call with its idempotency key, made once: every span of the call shows the same one."""
        prints, run_id = self._parts.fingerprints, self._state.run_id
        key = key_of(valid.tool, valid.arguments, valid.json_arguments, run_id=run_id, fingerprints=prints)
        return replace(valid, key=key)

    def _open(self) -> list[tuple[int, ValidCall]]:
        """Valid calls without a result, by position."""
        return [
            (position, verdict)
            for position, verdict in enumerate(self._verdicts)
            if isinstance(verdict, ValidCall) and position not in self._results
        ]

    def _valid(self, position: int) -> ValidCall:
        verdict = self._verdicts[position]
        if not isinstance(verdict, ValidCall):
            raise TypeError(f"call {position} was refused and cannot run")
        return verdict

    def _timeout(self, valid: ValidCall) -> float:
        return valid.tool.timeout or self._parts.budget.tool_seconds

    def _asks(self, position: int) -> bool:
        return self._opinions[position].decision is Decision.NEEDS_CONFIRMATION

    def _refuse(self, position: int, outcome: Outcome, said: str) -> None:
        self._put(position, _error(self._calls[position], outcome, said))

    def _put(self, position: int, result: ToolResult) -> None:
        self._results[position] = result
        self._emit(CallFinished(step=self._state.steps, result=result))


def _error(call: ToolCall, outcome: Outcome, said: str) -> ToolResult:
    return ToolResult(call=call, outcome=outcome, content=told_error(outcome, said))
