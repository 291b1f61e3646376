"""What a loop would do with the calls of one response, decided by the parts that decide in a run. Nothing runs.

Rules are asked, since they decide; nobody is asked to confirm, no tool starts, and no span goes anywhere.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, cast

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.batch import Batch, BatchParts
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.embedded_engine import EmbeddedEngine
from traced_loop.loop.engine_steps import EngineSteps
from traced_loop.loop.history import History
from traced_loop.loop.memory_ledger import MemoryLedger
from traced_loop.loop.policy import Identity, Policy
from traced_loop.loop.policy_engine import PolicyEngine
from traced_loop.loop.run_state import RunState
from traced_loop.loop.scheduler import Group
from traced_loop.loop.validator import RefusedCall, Validated, Validator
from traced_loop.loop.write_claims import WriteClaims
from traced_loop.messages import ToolCall
from traced_loop.outcomes import Outcome
from traced_loop.rules.budget import STOP_OF, Budget, Reserve, check
from traced_loop.rules.decision_table import DecisionTable, Row, with_waits
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import Telemetry
from traced_loop.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from traced_loop.loop.reconciliation import Reconciliation
    from traced_loop.loop.tool_executor import ToolExecutor


@frozen_value
class Plan:
    """A loop as far as it decides: its tools, rules and limits, at the beginning of a run."""

    registry: ToolRegistry
    policy: Policy = field(default_factory=Policy)
    budget: Budget = field(default_factory=Budget)
    max_parallel: int = 8
    identity: Identity | None = None

    async def decide(self, calls: Sequence[ToolCall]) -> DecisionTable:
        """The table of these calls; each id is there once."""
        telemetry, prints = Telemetry(), Fingerprints(b"nothing of a plan is kept")
        scope = telemetry.scope("plan")
        state = RunState(
            scope=scope,
            history=History("plan", (), telemetry, None, lambda: None),
            identity=self.identity,
            begun=scope.clock.seconds(),
            context_tokens=0,
        )
        parts = BatchParts(
            agent="plan",
            budget=self.budget,
            max_parallel=self.max_parallel,
            fingerprints=prints,
            validator=Validator(self.registry, telemetry, prints),
            policy=PolicyEngine(self.policy, telemetry, DaemonThreads("traced-loop-plan")),
            executor=cast("ToolExecutor", None),  # there is none: nothing can run
            reconciliation=cast("Reconciliation", None),
            steps=EngineSteps(EmbeddedEngine(), telemetry),
            claims=WriteClaims(MemoryLedger(), self.registry, telemetry, prints),
        )
        batch = Batch(parts, state, calls, lambda: self.budget.seconds, lambda _event: None)
        with telemetry.run(scope, names.INVOKE_AGENT, {}):
            batch.validate()
            await batch.authorize()
            verdict = check(self.budget, state.usage(), Reserve(tool_calls=batch.open_calls))
            if state.stop is None and verdict.exceeded is not None:
                state.stop_for(STOP_OF[verdict.exceeded], f"the limit {verdict.exceeded} allows no more")
                batch.skip_rest(Outcome.SKIPPED_BUDGET, state.stop_detail)
        rows = _rows(batch, calls, batch.groups())
        return DecisionTable(rows=rows, stop=state.stop, detail=state.stop_detail)


def _rows(batch: Batch, calls: Sequence[ToolCall], groups: Sequence[Group]) -> tuple[Row, ...]:
    turns = {position: (turn, group) for turn, group in enumerate(groups, 1) for position in group.positions}
    rows: list[Row] = []
    for position, call in enumerate(calls):
        verdict, opinion, result = batch.decided(position)
        row = replace(_validated(call, verdict), outcome=result.outcome if result else None)
        if opinion is not None:
            row = replace(row, decision=opinion.decision, rule=opinion.rule, reason=opinion.reason or None)
        if position in turns:
            turn, group = turns[position]
            row = replace(row, turn=turn, mode=group.mode, why=group.reason)
        rows.append(row)
    return with_waits(rows)


def _validated(call: ToolCall, verdict: Validated) -> Row:
    row = Row(place=call.index + 1, call_id=call.id, tool=call.name)
    if isinstance(verdict, RefusedCall):
        unknown = verdict.result.outcome is Outcome.UNKNOWN_TOOL
        problem = ": ".join(filter(None, (verdict.code, verdict.paths)))
        tool = names.UNKNOWN_TOOL if unknown else call.name
        return replace(row, tool=tool, validation="rejected", problem=problem)
    repaired = bool(call.anomalies) or verdict.text != call.arguments
    return replace(row, effect=verdict.tool.effect, validation="repaired" if repaired else "valid")
