"""The calls of one response, from proposal to answer: everything is validated and authorised before anything runs.

Whatever happens in between, each call ends with exactly one result, in call order.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from traced_loop import names
from traced_loop.events import CallFinished, Event
from traced_loop.loop.batch_parts import BatchParts as BatchParts
from traced_loop.loop.bounded_wait import cancel_all, result_of, start
from traced_loop.loop.call_end import cancelled_outcome
from traced_loop.loop.call_turns import Begun, CallTurns
from traced_loop.loop.compensation import Undoing, undo_batch
from traced_loop.loop.continued_run import OpenStep
from traced_loop.loop.engine_steps import KeyNumbers
from traced_loop.loop.guarded_ledger import LedgerFailed
from traced_loop.loop.policy_engine import rejected_meanwhile
from traced_loop.loop.run_state import RunState
from traced_loop.loop.scheduler import Group, Planned, plan
from traced_loop.loop.validator import RefusedCall, Validated, ValidCall
from traced_loop.loop.write_claims import unclaimed
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.rules.seen_call import SeenCall
from traced_loop.told import error_result

if TYPE_CHECKING:
    from traced_loop.loop.policy import Opinion
    from traced_loop.telemetry.spans import Span

_GROUP_SECONDS: Final = 5.0
"""How long cancelled calls may take together to end; each ends by itself within the executor's grace."""


class Batch:
    """The calls of one response, and their results so far."""

    def __init__(
        self,
        parts: BatchParts,
        state: RunState,
        calls: Sequence[ToolCall],
        seconds_left: Callable[[], float | None],
        emit: Callable[[Event], None],
        taken_up: OpenStep | None = None,
    ) -> None:
        """Begin with calls that nothing is known of.

        Args:
            parts: of the loop.
            state: of the run.
            calls: all of the answer.
            seconds_left: asks for the active seconds that the run has left.
            emit: who is told.
            taken_up: what is known of them all the same, where a resumed run takes them up.
        """
        self._parts = parts
        self._state = state
        self._calls = tuple(calls)
        self._seconds_left = seconds_left
        self._emit = emit
        self._turns = CallTurns(parts, state, seconds_left, emit)
        self._taken_up = taken_up
        self._verdicts: dict[int, Validated] = {}
        self._opinions: dict[int, Opinion] = {}
        self._results: dict[int, ToolResult] = {} if taken_up is None else dict(taken_up.kept)
        self._kept = frozenset(self._results)

    @property
    def spans(self) -> "Mapping[int, Span]":
        """The span of each call that was executed, by position."""
        return self._turns.spans

    @property
    def texts(self) -> list[str]:
        """The arguments as they go back to the provider, in call order; to be asked once all are validated."""
        return [self._verdicts[position].text for position in range(len(self._calls))]

    @property
    def open_calls(self) -> int:
        """Calls that may run."""
        return len(self._calls) - len(self._results)

    @property
    def seconds(self) -> float:
        """What they may take at most: groups run one after the other, the calls of one together."""
        return sum(max(self._parts.timeout(self._valid(n).tool) for n in group.positions) for group in self.groups())

    @property
    def results(self) -> list[ToolResult]:
        """One result per call, in call order; to be asked once ``answer_the_rest`` was called."""
        return [self._results[position] for position in range(len(self._calls))]

    @property
    def new_results(self) -> list[ToolResult]:
        """The same without those that stood before."""
        return [self._results[position] for position in range(len(self._calls)) if position not in self._kept]

    def stood(self, position: int) -> SeenCall | None:
        """What was seen of a call whose result stood before; None for the others."""
        return None if self._taken_up is None else self._taken_up.seen.get(position)

    def validate(self) -> None:
        """Judge every call; the refused ones have their result."""
        for position, call in enumerate(self._calls):
            if position not in self._kept:
                self._verdicts[position] = self._parts.validator.validate(call, self._state.calls_seen)
        for position, verdict in self._verdicts.items():
            if isinstance(verdict, RefusedCall):
                self._state.repetitions += verdict.repeat is not None
                if verdict.stop is not None:
                    self._state.stop_for(verdict.stop, "the model called a tool that is not registered")
                self._put(position, verdict.result)
        if self._state.stop is not None:
            self.skip_rest(Outcome.SKIPPED_STOP, self._state.stop_detail)

    async def authorize(self) -> None:
        """Decide about every valid call; the denied ones have their result."""
        policy, state, keyed = self._parts.policy, self._state, await self._all_keyed()
        for position, given in self._open():
            valid = keyed[position]
            if isinstance(valid, LedgerFailed):
                self._put(position, self._turns.kept_back(given, unclaimed(given, valid)))
                continue
            self._verdicts[position] = valid
            left = self._seconds_left()
            opinion = await policy.authorize(valid, state.identity, state.run_id, left, state.allowed)
            if self._taken_up is not None and position in self._taken_up.rejected:
                opinion = rejected_meanwhile(opinion)
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

    async def _all_keyed(self) -> dict[int, ValidCall | LedgerFailed]:
        """Every valid call with its key, the same each time that the step is done; or why it has none."""
        given = dict(self._open())

        keyed: dict[int, ValidCall | LedgerFailed] = {}

        def make() -> KeyNumbers:
            keyed.update({at: self._keyed(at, valid) for at, valid in given.items()})
            return {at: (v.key.number, v.key.repeats) for at, v in keyed.items() if isinstance(v, ValidCall)}

        known = await self._parts.steps.keys(self._state, list(given.values()), make)
        return keyed or {at: self._keyed(at, valid, known.get(at)) for at, valid in given.items()}

    def _keyed(self, position: int, valid: ValidCall, known: tuple[int, int] | None = None) -> ValidCall | LedgerFailed:
        """The call with its key; one that is taken up has the one that it had, and what is known of that counts."""
        claims, state, taken_up = self._parts.claims, self._state, self._taken_up
        place = f"{state.steps}.{position}"
        if known is not None:
            return claims.rekeyed(valid, state.run_id, place, *known)
        try:
            if taken_up is None:
                return claims.keyed(valid, state.run_id, place)
            own = state.history.messages[state.begun_with : taken_up.first - 1]
            found = claims.keyed(valid, state.run_id, place, claims.done_before(own, valid, state.run_id))
            if position in taken_up.begun:
                claims.doubt(found)
        except LedgerFailed as failed:
            return failed
        return found

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
        try:
            await self._execute()
        finally:
            self._parts.claims.batch_over(self._state.run_id)

    async def _execute(self) -> None:
        begun = Begun.now(self._state)
        undoes = self._parts.on_tool_error == "compensate"
        for turn, group in enumerate(self.groups(), 1):
            if self._state.stop is not None or (undoes and self._turns.failed):
                break
            await self._run_group(group, begun, turn)
        if self._state.stop is not None:
            self.skip_rest(Outcome.SKIPPED_STOP, self._state.stop_detail)
        if undoes and self._turns.failed:
            failed = self._calls[self._turns.failed[0]]
            self.skip_rest(Outcome.SKIPPED_STOP, f"{failed.name} ({failed.id}) failed before")
            if self._state.stop not in {StopReason.CANCELLED, StopReason.OUTCOME_UNKNOWN}:
                undoing = Undoing(self._parts, self._state, self._seconds_left, self._emit)
                await undo_batch(undoing, self._turns.done, self._turns.failed, self._results)

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
            verdict = self._verdicts.get(position)
            if isinstance(verdict, RefusedCall):
                self._results[position] = verdict.result  # its span has said so already
            elif isinstance(verdict, ValidCall) and position in self._turns.running:
                outcome = cancelled_outcome(verdict.tool.effect)
                maybe = " It may have been applied." if outcome is Outcome.UNKNOWN else ""
                self._state.failed_tool_calls += 1
                self._results[position] = error_result(call, outcome, f"Cancelled while it ran.{maybe}")
            else:
                if isinstance(verdict, ValidCall):
                    self._parts.policy.withdraw(verdict, self._state.identity, Outcome.SKIPPED_STOP)
                else:
                    self._parts.validator.skip(call, Outcome.SKIPPED_STOP)
                self._results[position] = error_result(call, Outcome.SKIPPED_STOP, "Not run: the run was ended.")

    async def _run_group(self, group: Group, begun: Begun, turn: int) -> None:
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

    async def _run_one(self, position: int, schedule: Mapping[str, Any], begun: Begun) -> None:
        valid, opinion = self._valid(position), self._opinions[position]
        self._put(position, await self._turns.take(position, valid, opinion, schedule, begun))

    def _open(self) -> list[tuple[int, ValidCall]]:
        """Valid calls without a result, by position."""
        return [
            (position, verdict)
            for position, verdict in self._verdicts.items()
            if isinstance(verdict, ValidCall) and position not in self._results
        ]

    def _valid(self, position: int) -> ValidCall:
        verdict = self._verdicts[position]
        if not isinstance(verdict, ValidCall):
            raise TypeError(f"call {position} was refused and cannot run")
        return verdict

    def _asks(self, position: int) -> bool:
        return self._opinions[position].decision is Decision.NEEDS_CONFIRMATION

    def _refuse(self, position: int, outcome: Outcome, said: str) -> None:
        self._put(position, error_result(self._calls[position], outcome, said))

    def _put(self, position: int, result: ToolResult) -> None:
        self._results[position] = result
        self._emit(CallFinished(step=self._state.steps, result=result))
