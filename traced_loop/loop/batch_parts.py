"""What the calls of a response need of their loop: its limits, and the parts that they go through."""

from dataclasses import field

from traced_loop.closed_words import OnToolError
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.engine_steps import EngineSteps
from traced_loop.loop.policy_engine import PolicyEngine
from traced_loop.loop.reconciliation import Reconciliation
from traced_loop.loop.serial_groups import SerialGroups
from traced_loop.loop.tool_executor import ToolExecutor
from traced_loop.loop.validator import Validator
from traced_loop.loop.write_claims import WriteClaims
from traced_loop.rules.budget import WRITE_PART, Budget
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.tool_registry import ToolDefinition


@frozen_value
class BatchParts:
    """The parts of one loop.

    Attributes:
        agent: name of the loop.
        budget: its limits.
        max_parallel: reads that run at the same time at most.
        validator: judges calls.
        policy: decides about them.
        executor: carries them out.
        fingerprints: for what is shown.
        claims: what is known of writes.
        reconciliation: asks tools what came of unknown writes.
        steps: asks the engine.
        groups: the serial groups.
        on_tool_error: what a tool's error does.
        stop_on_timeout: whether a read that times out ends the run.
    """

    agent: str
    budget: Budget
    max_parallel: int
    validator: Validator
    policy: PolicyEngine
    executor: ToolExecutor
    fingerprints: Fingerprints
    claims: WriteClaims
    reconciliation: Reconciliation
    steps: EngineSteps
    groups: SerialGroups = field(default_factory=SerialGroups)
    on_tool_error: OnToolError = "report"
    stop_on_timeout: bool = True

    def timeout(self, tool: ToolDefinition) -> float:
        """Seconds that one call may take.

        A write that declares none has ``tool_seconds``, and at most the part ``WRITE_PART`` of the run's ``seconds``.
        """
        most, seconds = self.budget.tool_seconds, self.budget.seconds
        if tool.timeout is None and tool.effect == "write" and seconds is not None:
            most = min(most, seconds * WRITE_PART)
        return tool.timeout or most

    def time_of(self, tool: ToolDefinition, left: float | None) -> float:
        """The same within ``left``, the seconds that the run has; None for no end."""
        return self.timeout(tool) if left is None else min(self.timeout(tool), left)
