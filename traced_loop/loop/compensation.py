"""Undoing what a batch did, after one of its calls failed: in reverse order, each by its tool's compensation.

A compensation is no call of the model's: it has no message and no call id of its own, and counts against no number of
calls. It is authorised like any write, recorded like any write, and its span is linked to the one that it undoes.
Nothing else is undone once one could not be: what was done before may be what that one stands on. A write that declares
no compensation is passed over: nobody said that it could be undone.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from traced_loop import names
from traced_loop.call_ledger import Claim, EndState, WriteEnd
from traced_loop.events import CallCompensated, Event
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.batch_parts import BatchParts
from traced_loop.loop.call_key import CallKey
from traced_loop.loop.guarded_ledger import LedgerFailed
from traced_loop.loop.run_state import RunState
from traced_loop.loop.tool_executor import Executed, Order
from traced_loop.loop.validator import Undoes, ValidCall
from traced_loop.loop.write_claims import write_of
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.side_arguments import undo_arguments
from traced_loop.told import told_more
from traced_loop.tool_registry import ToolDefinition

_SCHEDULE: Final[Mapping[str, Any]] = {names.SCHEDULE_MODE: "serial", names.SCHEDULE_REASON: "compensation"}


@frozen_value
class Done:
    """A write of the batch that was done.

    Attributes:
        valid: the call.
        executed: how it ended.
        claim: under which it was done.
        positions: of the call in its batch, and of those that were answered with its result.
    """

    valid: ValidCall
    executed: Executed
    claim: Claim | None
    positions: list[int]


@frozen_value
class Undone:
    """What came of undoing a call: ``ok`` where it is undone; what the model is told of it."""

    outcome: Outcome
    said: str

    @property
    def undone(self) -> bool | None:
        """Whether it is undone; None where that is not known."""
        return None if self.outcome is Outcome.UNKNOWN else self.outcome is Outcome.OK


class Undoing:
    """Undoes calls of one run."""

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

    async def undo(self, done: Sequence[Done], because: str, note: Callable[[Done, Undone], None]) -> None:
        """Undo calls, the last one first.

        Args:
            done: in the order in which they were done.
            because: what failed, in words.
            note: told what came of each call when it is known; of one that is being undone when the run is cancelled
                that it is not known.
        """
        stuck: str | None = None
        for one in reversed(done):
            undo = one.valid.tool.compensate
            if stuck is not None:
                came = Undone(outcome=Outcome.SKIPPED_STOP, said=f"Stays done: {stuck} could not be undone.")
            elif undo is None:
                said = f"Stays done: {one.valid.tool.name} has nothing that undoes it."
                came = Undone(outcome=Outcome.SKIPPED_STOP, said=said)
            else:
                came = await self._undo(one, undo, because, note)
            note(one, came)
            stuck = stuck or (one.valid.tool.name if undo is not None and came.outcome is not Outcome.OK else None)
            tool = undo.name if undo is not None else one.valid.tool.name
            event = CallCompensated(step=self._state.steps, call_id=one.valid.call.id, tool=tool, outcome=came.outcome)
            self._emit(event)

    async def _undo(
        self, done: Done, undo: ToolDefinition, because: str, note: Callable[[Done, Undone], None]
    ) -> Undone:
        parts, state, call = self._parts, self._state, self._call(done, undo)
        refused = await self._refused(call)
        if refused is not None:
            return refused
        turn = await parts.groups.enter(undo.serial_group, parts.time_of(undo, self._seconds_left()))
        wanted, left = parts.timeout(undo), self._seconds_left()
        if turn is None:
            return self._not_run(call, "another tool of its serial group still runs")
        with turn:
            if left is not None and (left <= 0 or wanted > left):
                return self._not_run(call, "the run has no time left to undo it")
            claim = self._claimed(done, call)
            if isinstance(claim, LedgerFailed):
                why = "undoing it could not be recorded"
                return self._not_run(call, why, Outcome.SKIPPED_STOP, self._state.stop)
            note(done, Undone(outcome=Outcome.UNKNOWN, said="It was being undone; whether it is is not known."))
            executed = await parts.executor.execute(
                Order(
                    valid=call,
                    step=state.steps,
                    agent=parts.agent,
                    timeout=wanted,
                    clock=state.scope.clock,
                    time_left=float("inf") if left is None else left,
                    schedule=_SCHEDULE,
                    trends=state.trends,
                    left_behind=state.left_behind,
                    claim=claim,
                    turn=turn,
                )
            )
        return self._ended(done, executed, because)

    def _not_run(
        self, call: ValidCall, why: str, outcome: Outcome = Outcome.SKIPPED_BUDGET, stop: StopReason | None = None
    ) -> Undone:
        self._parts.policy.withdraw(call, self._state.identity, outcome, stop)
        return Undone(outcome=outcome, said=f"Stays done: {why}.")

    def _claimed(self, done: Done, call: ValidCall) -> Claim | LedgerFailed | None:
        """The claim of an undoing that may run; until it has ended nothing is known of the call that it undoes.

        What is half undone is no result to be given again, and no call that is done.
        """
        try:
            self._know(done, "unknown")
            return self._parts.claims.begin(call)[1].claim
        except LedgerFailed as failed:
            with suppress(LedgerFailed):  # it is still done; if that cannot be kept either, it is not known there
                self._know(done, "succeeded")
            said = f"the ledger of writes failed ({failed}) before {done.valid.tool.name} was undone"
            self._state.stop_for(StopReason.HARNESS_ERROR, said)
            return failed

    async def _refused(self, call: ValidCall) -> Undone | None:
        """What comes of asking whether it may run; None where it may."""
        state = self._state
        opinion = await self._parts.policy.authorize(call, state.identity, state.run_id, self._seconds_left())
        if opinion.decision is Decision.ALLOW:
            return None
        if opinion.decision is Decision.DENY:
            said = f"Stays done: undoing it is not permitted ({opinion.reason or opinion.rule})."
            return Undone(outcome=Outcome.DENIED, said=said)
        asking = self._parts.policy.confirm(call, opinion, state.identity, state.scope.clock, _SCHEDULE)
        confirmation = await state.person(asking)
        if confirmation.state == "approved":
            return None
        if confirmation.state == "rejected":
            said = "Stays done: a person rejected undoing it."
            return Undone(outcome=Outcome.CONFIRMATION_REJECTED, said=said)
        return Undone(outcome=Outcome.CONFIRMATION_REQUIRED, said="Stays done: nobody confirmed undoing it.")

    def _ended(self, done: Done, executed: Executed, because: str) -> Undone:
        self._state.take(executed, executed.result.call.name)
        outcome = executed.result.outcome
        try:
            if outcome is not Outcome.UNKNOWN:
                self._know(done, "undone" if outcome is Outcome.OK else "succeeded")
        except LedgerFailed as failed:
            name = done.valid.tool.name
            said = f"the ledger of writes failed ({failed}) after {name} was to be undone"
            self._state.stop_for(StopReason.OUTCOME_UNKNOWN, said)
            outcome = Outcome.UNKNOWN
        if outcome is Outcome.OK:
            return Undone(outcome=outcome, said=f"Done, and then undone, because {because}: nothing of it is left.")
        if outcome is Outcome.UNKNOWN:
            said = "Undoing it failed half-way: whether it is still done is not known. Do not repeat it."
            return Undone(outcome=outcome, said=said)
        return Undone(outcome=outcome, said="Stays done: undoing it failed, and changed nothing.")

    def _know(self, done: Done, state: EndState) -> None:
        """Say in the ledger what is known of the call by now."""
        if done.claim is not None:
            span, content = done.executed.span, done.executed.result.content
            end = WriteEnd(state=state, content=content, span=span.id, ended_ns=span.record.end_ns)
            self._parts.claims.ledger.settle(done.claim, end)

    def _call(self, done: Done, undo: ToolDefinition) -> ValidCall:
        """The compensation in the form of a call, so that it goes the way of all calls."""
        valid, span = done.valid, done.executed.span
        key = f"{valid.key.text}:undo:{span.record.attributes.get(names.EXECUTION_ID)}"
        given = undo_arguments(
            undo.handler, valid.tool.handler, valid.arguments, lambda: json.loads(done.executed.given or "null")
        )
        made = CallKey(
            text=key, fingerprint=self._parts.fingerprints.of("key", key), write_fingerprint=valid.key.write_fingerprint
        )
        print_ = self._parts.fingerprints.of_arguments(undo.name, valid.json_arguments)
        return replace(
            valid,
            call=ToolCall(id=valid.call.id, index=valid.call.index, name=undo.name, arguments=valid.text),
            tool=undo,
            arguments=given,
            fingerprint=print_,
            identity=print_,
            key=made,
            write=write_of(undo, made, self._state.run_id, call_id=valid.call.id, arguments=valid.json_arguments),
            undoes=Undoes(call_id=valid.call.id, span=span.id),
        )


async def undo_batch(
    undoing: Undoing, done: Sequence[Done], failed: Sequence[int], results: dict[int, ToolResult]
) -> None:
    """Undo what a batch did, and tell it in the results of the calls that were done and of those that failed.

    Args:
        undoing: undoes it.
        done: in the order in which they were done.
        failed: positions of what failed, the first one first.
        results: of the batch, by position; changed, also where this is cancelled half-way.
    """
    before, came = dict(results), dict[str, Undone]()

    def note(one: Done, what: Undone) -> None:
        came[one.valid.call.id] = what
        for position in one.positions:
            told = told_more(before[position].content, undone=what.undone, message=what.said)
            results[position] = replace(before[position], content=told, undone=what.undone)

    first = before[failed[0]].call
    try:
        await undoing.undo(done, f"{first.name} ({first.id}) failed", note)
    finally:
        for one in done:
            if one.valid.call.id not in came:
                note(one, Undone(outcome=Outcome.SKIPPED_STOP, said="Stays done: the run was ended."))
        words: Mapping[bool | None, str] = {True: "undone", False: "not_undone", None: "undo_unknown"}
        told_ids: dict[str, list[str]] = {}
        for call, what in came.items():
            told_ids.setdefault(words[what.undone], []).append(call)
        for position in failed:
            results[position] = replace(before[position], content=told_more(before[position].content, **told_ids))
