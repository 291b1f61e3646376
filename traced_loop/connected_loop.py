"""The parts of one loop, put together from what its user has chosen, and the same for every run of it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from traced_loop import names
from traced_loop.canonical_json import canonical
from traced_loop.closed_words import OnToolError
from traced_loop.engine import Engine
from traced_loop.errors import StoreError, UsageError
from traced_loop.events import Event
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.batch import BatchParts
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.engine_steps import EngineSteps
from traced_loop.loop.loop_controller import LoopController
from traced_loop.loop.memory_ledger import MemoryLedger
from traced_loop.loop.model_client import ModelClient
from traced_loop.loop.policy import Policy
from traced_loop.loop.policy_engine import PolicyEngine
from traced_loop.loop.reconciliation import Reconciliation
from traced_loop.loop.request_attempts import RetryPolicy
from traced_loop.loop.root_span import RunSettings
from traced_loop.loop.task import RequestOptions
from traced_loop.loop.tool_executor import ToolExecutor
from traced_loop.loop.validator import Validator
from traced_loop.loop.write_claims import WriteClaims
from traced_loop.messages import Message, Model
from traced_loop.models.routes import routes_of
from traced_loop.records.store import Store
from traced_loop.rules.budget import Budget
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.setup import Wiring
from traced_loop.telemetry.dialects import Dialect, dialects_in
from traced_loop.telemetry.fingerprint import digest
from traced_loop.telemetry.ids import Ids
from traced_loop.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from traced_loop.resumed_run import ResumedRun, Wanted
    from traced_loop.run_result import RunResult

_THREADS: Final = DaemonThreads("traced-loop-tool")
"""Shared by all loops, so that a loop per request of a server leaves no threads behind."""


@frozen_value
class LoopChoices:
    """What the user of a loop has chosen, checked; see ``Loop``."""

    models: tuple[Model, ...]
    registry: ToolRegistry
    name: str
    instructions: str | None
    budget: Budget
    policy: Policy
    options: RequestOptions
    compat: frozenset[Dialect] | None
    unknown_tool: Literal["report", "stop"]
    on_timeout: Literal["stop", "report"]
    on_tool_error: OnToolError
    repetition: RepetitionRules
    max_parallel: int
    retry: RetryPolicy
    in_memory: bool
    engine: Engine
    ids: Ids


class ConnectedLoop:
    """A loop whose connection is there."""

    def __init__(self, choices: LoopChoices, wiring: Wiring) -> None:
        self._choices = choices
        self.wiring = wiring
        self.settings = _settings(choices, wiring)
        self._parts = _parts(choices, wiring)
        self._client = ModelClient(routes_of(choices.models), wiring.telemetry, retry=choices.retry, ids=choices.ids)

    def store(self, what: str) -> Store:
        """The store that it records into.

        Raises:
            StoreError: there is none, or it cannot be used.
        """
        if self.wiring.store is None:
            raise StoreError(f"{what} goes on from a store, and this loop has none: leave store=None out")
        return Store.open(self.wiring.store)

    def conversation(self, session: str | None, messages: Sequence[Message] | None) -> Sequence[Message]:
        """The messages of the last run of a session.

        Raises:
            UsageError: no session, or messages beside it; or that run is not over.
        """
        if session is None or messages is not None:
            said = "needs a session_id=" if session is None else "has its messages from the store: leave messages= out"
            raise UsageError(f"continue_session=True {said}")
        # What reads a store is slow to import, and most runs need none of it.
        from traced_loop.earlier_run import session_messages

        return session_messages(self.store("a session"), session)

    def taken_up(self, run: str, wanted: "Wanted", check: Callable[[Budget], None]) -> "ResumedRun | RunResult":
        """A stored run that goes on in this loop now; see ``resume_run``."""
        from traced_loop.resumed_run import resume_run

        return resume_run(
            self.store("a run"),
            run,
            wanted,
            budget=self._choices.budget,
            tools_version=self.settings.digests[names.TOOLS_VERSION],
            key_id=self.settings.digests[names.FINGERPRINT_KEY_ID],
            check=check,
        )

    def controller(
        self, on_event: Callable[[Event], None] | None, resumed: "ResumedRun | None" = None
    ) -> LoopController:
        """What runs one task; of a resumed run with its own limits, and with what was said of its calls."""
        settings, parts = self.settings, self._parts
        if resumed is not None:
            digests = {**settings.digests, **resumed.digests}
            settings = replace(settings, budget=resumed.budget, digests=digests)
            policy = replace(self._choices.policy, confirm=resumed.approver(self._choices.policy.confirm))
            engine = PolicyEngine(policy, self.wiring.telemetry, _THREADS)
            parts = replace(parts, budget=resumed.budget, policy=engine)
        return LoopController(
            settings,
            self._choices.options,
            telemetry=self.wiring.telemetry,
            client=self._client,
            parts=parts,
            transcript=self.wiring.transcript,
            on_event=on_event,
        )


def _parts(choices: LoopChoices, wiring: Wiring) -> BatchParts:
    telemetry, fingerprints, registry = wiring.telemetry, wiring.fingerprints, choices.registry
    stop_on_timeout = choices.on_timeout == "stop"
    ledger = MemoryLedger() if choices.in_memory or wiring.ledger is None else wiring.ledger
    claims = WriteClaims(ledger, registry, telemetry, fingerprints)
    reconciliation = Reconciliation(telemetry, _THREADS)
    return BatchParts(
        agent=choices.name,
        budget=choices.budget,
        max_parallel=choices.max_parallel,
        fingerprints=fingerprints,
        validator=Validator(registry, telemetry, fingerprints, stop_on_unknown=choices.unknown_tool == "stop"),
        policy=PolicyEngine(choices.policy, telemetry, _THREADS),
        executor=ToolExecutor(
            telemetry,
            fingerprints,
            ids=choices.ids,
            stop_on_timeout=stop_on_timeout,
            stop_on_error=choices.on_tool_error == "stop",
            threads=_THREADS,
            ledger=claims.ledger,
            reconciliation=reconciliation,
        ),
        claims=claims,
        reconciliation=reconciliation,
        steps=EngineSteps(choices.engine, telemetry),
        on_tool_error=choices.on_tool_error,
        stop_on_timeout=stop_on_timeout,
    )


def _settings(choices: LoopChoices, wiring: Wiring) -> RunSettings:
    prompt, tools = digest(choices.instructions or ""), choices.registry.version
    parameters = canonical(
        [
            *(model.name for model in choices.models),
            prompt,
            tools,
            repr(choices.options.parameters),
            repr(choices.budget),
            choices.repetition.text(),
        ]
    )
    return RunSettings(
        agent=choices.name,
        model=choices.models[0].name,
        budget=choices.budget,
        repetition=choices.repetition,
        digests={
            names.CONFIG_HASH: digest(parameters),
            names.PROMPT_VERSION: prompt,
            names.TOOLS_VERSION: tools,
            names.FINGERPRINT_KEY_ID: wiring.fingerprints.key_id,
        },
        kept_home=choices.registry.kept_home,
        compat=dialects_in(os.environ) if choices.compat is None else choices.compat,
        store=wiring.store,
        export=wiring.export,
        delivery=wiring.delivery,
    )
