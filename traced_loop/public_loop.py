"""``Loop``: what users hold. Puts the parts together once, and runs tasks, sync or async."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, get_args

from opentelemetry import trace

from traced_loop.background_loop import run_blocking
from traced_loop.closed_words import OnToolError, RepetitionReaction
from traced_loop.connected_loop import ConnectedLoop, LoopChoices
from traced_loop.driven_loop import DrivenLoop, checked_engine
from traced_loop.engine import Engine
from traced_loop.events import Event
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.given_values import count, words
from traced_loop.loop.loop_controller import LoopController
from traced_loop.loop.policy import Identity, Policy
from traced_loop.loop.request_attempts import RetryPolicy
from traced_loop.loop.task import RequestOptions, Task
from traced_loop.loop_arguments import (
    LedgerChoice,
    check_kinds,
    check_ledger,
    check_prices,
    check_tools,
    checked_models,
    checked_parameters,
    first_messages,
    given_text,
    one_of,
)
from traced_loop.messages import Message, Model
from traced_loop.models.traits import traits_of
from traced_loop.redaction import Redactor
from traced_loop.resuming_loop import ResumingLoop
from traced_loop.rules.budget import Budget
from traced_loop.rules.repetition_rules import RepetitionRules, rules_of
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.run_result import RunResult
from traced_loop.sendable_json import sendable
from traced_loop.setup import DEFAULT_STORE, StoreChoice, Wiring, wire
from traced_loop.telemetry.content.capture import ContentChoice, content_in, content_of
from traced_loop.telemetry.dialects import dialects
from traced_loop.telemetry.fingerprint_key import GivenKey, check_key
from traced_loop.telemetry.ids import Ids, RandomIds
from traced_loop.tool_registry import Tool, ToolRegistry


class Loop(DrivenLoop, ResumingLoop):
    """A tool-calling loop: a model, tools, limits and rules. Holds no state of a run, so threads can share it."""

    def __init__(
        self,
        model: Model,
        tools: Collection[Tool] = (),
        *,
        fallback: Sequence[Model] = (),
        name: str = "agent",
        instructions: str | None = None,
        budget: Budget | None = None,
        shared_budget: SharedBudget | None = None,
        policy: Policy | None = None,
        request: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        identity: Identity | None = None,
        session_id: str | None = None,
        content: ContentChoice | None = None,
        compat: Collection[str] | None = None,
        unknown_tool: Literal["report", "stop"] = "report",
        on_timeout: Literal["stop", "report"] = "stop",
        on_tool_error: OnToolError = "report",
        on_event: Callable[[Event], None] | None = None,
        repetition: RepetitionRules | RepetitionReaction = "stop",
        max_parallel: int = 8,
        retry: RetryPolicy | None = None,
        store: StoreChoice = DEFAULT_STORE,
        ledger: LedgerChoice = "store",
        otlp: str | None = None,
        engine: Engine | None = None,
        sampling: RunSampling | None = None,
        tracer_provider: trace.TracerProvider | None = None,
        fingerprint_key: GivenKey | None = None,
        redactor: Redactor | None = None,
        wiring: Wiring | None = None,
        ids: Ids | None = None,
    ) -> None:
        """Put a loop together; nothing is opened or sent yet.

        Args:
            model: what answers, ``OpenAIModel`` or ``ScriptedModel`` for example.
            tools: decorated functions or ``raw_tool`` definitions.
            fallback: models that are asked, in this order, once the one before cannot be: its tries are used up, or its
                error is its own (key, quota, name). A run stays with the model that it has come to.
            name: the agent's name on spans.
            instructions: the system message of runs whose history has none.
            budget: the limits; None for the defaults.
            shared_budget: limits that runs share, of this loop and of others, beside ``budget``.
            policy: rules, allow-list and approver; None for the defaults.
            request: parameters of every request (``temperature``, ``max_completion_tokens``, ...).
            tool_choice: as in Chat Completions.
            identity: on whose behalf runs act, unless a run says otherwise.
            session_id: a conversation that several runs continue.
            content: what of messages, arguments and results goes into telemetry: ``none``, ``span``, ``event``,
                ``both``, ``full`` (each request whole) or ``ContentCapture``; None for what the environment says.
            compat: ``("openinference",)`` adds its keys to the spans; None for ``TRACED_LOOP_COMPAT``.
            unknown_tool: ``report`` the registered names to the model, or ``stop`` with ``tool_not_allowed``.
            on_timeout: a read that times out ends the run, or is reported to the model.
            on_tool_error: a tool that raises is told to the model (``report``), ends the run with ``tool_failed``
                after the calls that run beside it (``stop``), or has what its batch did undone by each tool's
                ``compensate``, the last one first, and told to the model (``compensate``; also for a read that times
                out). What a write raises without ``NotApplied`` is unknown: it ends the run, and undoes nothing.
            on_event: told what happens while it happens; an exception in it ends the run and is raised to the caller.
            repetition: ``stop`` a run that repeats itself, after a nudge where there is one; only ``nudge`` the model;
                ``observe``; or ``RepetitionRules`` with other numbers.
            max_parallel: reads that run at the same time at most.
            retry: how often a failed model request is tried again.
            store: a folder, or None for no local store.
            ledger: where writes are remembered: in the store, for all processes and after a crash; or in ``memory``, as
                long as this object lives. Tools that write and ``store=None`` want it said.
            otlp: URL of a collector, whatever the environment says.
            engine: what carries the runs, as ``traced_loop.engine`` says; None for this process alone.
            sampling: which runs our own exporter sends; None for all. The store keeps every run.
            tracer_provider: the application's; None for the global one, if there is one.
            fingerprint_key: a secret text or bytes, 16 at least, that makes fingerprints comparable between stores and
                machines; None for ``TRACED_LOOP_FINGERPRINT_KEY``, else a key of the store's own.
            redactor: what is masked on spans and in captured content; None for the built-in rules.
            wiring: a ready connection instead of the seven above (tests).
            ids: where ids come from (tests).

        Raises:
            UsageError: something here cannot work; the message says what to write instead.
        """
        check_kinds(model, tools, policy)
        registry, policy = ToolRegistry(tools), policy or Policy()
        check_tools(registry, policy)
        check_ledger(ledger, registry, stored=store is not None or wiring is not None)
        models = checked_models(model, fallback)
        self._engine = checked_engine(engine, registry, on_tool_error, in_memory=ledger == "memory")
        count("max_parallel", max_parallel, of="Loop")
        check_key(fingerprint_key)
        self._ids = ids or RandomIds()
        self._choices = LoopChoices(
            models=models,
            registry=registry,
            name=name,
            instructions=given_text("instructions", instructions),
            budget=budget or Budget(),
            policy=policy,
            options=RequestOptions(
                tools=registry.wire,
                parameters=checked_parameters(request or {}),
                tool_choice=sendable("tool_choice", tool_choice),
                output_ceiling=max(traits_of(each).output_ceiling for each in models),
                output_floor=max(traits_of(each).output_floor for each in models),
            ),
            compat=None if compat is None else dialects(compat),
            unknown_tool=one_of("unknown_tool", unknown_tool, ("report", "stop")),
            on_timeout=one_of("on_timeout", on_timeout, ("stop", "report")),
            on_tool_error=one_of("on_tool_error", on_tool_error, get_args(OnToolError)),
            repetition=rules_of(repetition),
            max_parallel=max_parallel,
            retry=retry or RetryPolicy(),
            in_memory=ledger == "memory",
            engine=self._engine,
            ids=self._ids,
        )
        self._shared_budget = shared_budget
        self._identity = identity
        self._session_id = session_id
        self._content = content_of(content, of="Loop")
        self._on_event = on_event
        self._connect: Callable[[], Wiring] = lambda: (
            wiring or wire(store, tracer_provider, otlp, sampling, fingerprint_key, redactor)
        )
        self._connected: ConnectedLoop | None = None
        self._lock = ForkSafeLock()

    def run(
        self,
        prompt: str | None = None,
        *,
        messages: Sequence[Message] | None = None,
        identity: Identity | None = None,
        session_id: str | None = None,
        continue_session: bool = False,
        content: ContentChoice | None = None,
        allow_tools: Collection[str] | None = None,
        shared_budget: SharedBudget | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Run a task and wait for its end; from any thread, also inside a running event loop.

        Args:
            prompt: what the user says.
            messages: an earlier history, which the prompt continues if there is one. A write of which it says that the
                outcome is unknown is not run again; whoever has found out what came of it writes that in its place.
            identity: instead of the loop's.
            session_id: instead of the loop's.
            continue_session: begin with the messages of the session's last run; a new session begins with none.
            content: instead of the loop's.
            allow_tools: names of the tools that this run may use, of those that the policy allows; a call of another
                one is denied. None for all of them.
            shared_budget: instead of the loop's.
            on_event: instead of the loop's.

        Raises:
            UsageError: neither prompt nor messages, a history that no provider would take or that has no JSON form, a
                cost limit with a model of unknown price.
            StoreError: the local store cannot be used.
            KeyboardInterrupt: Ctrl-C; ``partial_result(error)`` is what the run had reached.
        """
        run = self.arun(
            prompt,
            messages=messages,
            identity=identity,
            session_id=session_id,
            continue_session=continue_session,
            content=content,
            allow_tools=allow_tools,
            shared_budget=shared_budget,
            on_event=on_event,
        )
        return run_blocking(run)

    async def arun(
        self,
        prompt: str | None = None,
        *,
        messages: Sequence[Message] | None = None,
        identity: Identity | None = None,
        session_id: str | None = None,
        continue_session: bool = False,
        content: ContentChoice | None = None,
        allow_tools: Collection[str] | None = None,
        shared_budget: SharedBudget | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Run a task in the caller's event loop; see ``run``.

        Raises:
            CancelledError: the task was cancelled; ``partial_result(error)`` is what the run had reached.
        """
        choices, shared, session = self._choices, shared_budget or self._shared_budget, session_id or self._session_id
        check_prices(choices.models, choices.budget, shared.limits if shared else None)
        earlier = messages if not continue_session else self._ready().conversation(session, messages)
        history = first_messages(choices.instructions, prompt, earlier)
        self._prepare()
        task = Task(
            run_id=self._ids.run_id(),
            messages=history,
            identity=identity or self._identity,
            session_id=session,
            content=content_of(content, of="run") or self._content or content_in(os.environ),
            allow_tools=self._allowed(allow_tools),
            shared_budget=shared,
        )
        return await self._start(task, on_event)

    def _controller(self, on_event: Callable[[Event], None] | None) -> LoopController:
        return self._ready().controller(on_event or self._on_event)

    def _store_folder(self) -> str | None:
        return self._ready().wiring.store

    def _prepare(self) -> None:
        for model in self._choices.models:
            traits_of(model).prepare()

    def _ready(self) -> ConnectedLoop:
        with self._lock:
            if self._connected is None:
                self._connected = ConnectedLoop(self._choices, self._connect())
            return self._connected

    def _allowed(self, given: Collection[str] | None) -> frozenset[str] | None:
        if given is None:
            return None
        allowed = words("allow_tools", given, of="run")
        self._choices.registry.check_registered("allow_tools", allowed, of="run")
        return allowed
