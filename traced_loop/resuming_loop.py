"""How a loop takes up a run of its store again; ``resumed_run`` says what of it goes on."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping

from traced_loop.background_loop import run_blocking
from traced_loop.connected_loop import ConnectedLoop, LoopChoices
from traced_loop.events import Event
from traced_loop.given_values import words
from traced_loop.loop.policy import Identity
from traced_loop.loop_arguments import check_prices, given_text
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.run_result import RunResult
from traced_loop.telemetry.content.capture import ContentCapture, ContentChoice, content_in, content_of


class ResumingLoop(ABC):
    """What a loop can do about runs that have stopped."""

    _choices: LoopChoices
    _identity: Identity | None
    _shared_budget: SharedBudget | None
    _content: ContentCapture | None
    _on_event: Callable[[Event], None] | None

    def resume(
        self,
        run_id: str,
        *,
        confirm: Collection[str] = (),
        reject: Collection[str] = (),
        by: str = "resume",
        add: Mapping[str, float] | None = None,
        prompt: str | None = None,
        trace_id: str | None = None,
        identity: Identity | None = None,
        content: ContentChoice | None = None,
        allow_tools: Collection[str] | None = None,
        shared_budget: SharedBudget | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Let a run of the store go on that stopped, waits for a person, or whose process died; see ``run``.

        It keeps its id, its history and what is left of its own limits. Calls without a result go the way of all calls;
        a write that was done is not done again. A run that has its answer gives it again, and nothing is changed.

        Args:
            run_id: of the run, the beginning of one only, or ``last``.
            confirm: ids of calls that wait for a person and are approved; asked anew where the tools are others now.
            reject: ids of those that are not.
            by: who says so, for the trace and the ledger.
            add: to its limits, by their names in ``Budget``: ``{"steps": 5}``.
            prompt: what a person says before it goes on; needed where the model has spoken last.
            trace_id: of the run's last part when the person looked (``RunResult.trace_id``); a run that has gone on
                since is left as it is, so that no answer is taken for one to a later question. None for any.
            identity: as for ``run``, and so are the next four; none of these is stored with a run.
            content: as for ``run``.
            allow_tools: as for ``run``.
            shared_budget: as for ``run``; it counts what the run spends from now on.
            on_event: as for ``run``.

        Raises:
            UsageError: the run still runs, has gone on since, cannot go on, or not so; no such run or call; a limit
                leaves it nothing.
            StoreError: there is no store, or it cannot be used.
            KeyboardInterrupt: Ctrl-C; ``partial_result(error)`` is what the run had reached.
        """
        run = self.aresume(
            run_id,
            confirm=confirm,
            reject=reject,
            by=by,
            add=add,
            prompt=prompt,
            trace_id=trace_id,
            identity=identity,
            content=content,
            allow_tools=allow_tools,
            shared_budget=shared_budget,
            on_event=on_event,
        )
        return run_blocking(run)

    async def aresume(
        self,
        run_id: str,
        *,
        confirm: Collection[str] = (),
        reject: Collection[str] = (),
        by: str = "resume",
        add: Mapping[str, float] | None = None,
        prompt: str | None = None,
        trace_id: str | None = None,
        identity: Identity | None = None,
        content: ContentChoice | None = None,
        allow_tools: Collection[str] | None = None,
        shared_budget: SharedBudget | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Let a run go on in the caller's event loop; see ``resume``.

        Raises:
            CancelledError: the task was cancelled; ``partial_result(error)`` is what the run had reached.
        """
        from traced_loop.resumed_run import Wanted  # what reads a store is slow to import

        wanted = Wanted(
            confirm=words("confirm", confirm, of="resume"),
            reject=words("reject", reject, of="resume"),
            by=by,
            add=dict(add or {}),
            prompt=given_text("prompt", prompt),
            trace_id=given_text("trace_id", trace_id),
        )
        allowed, shared = self._allowed(allow_tools), shared_budget or self._shared_budget
        shown = content_of(content, of="resume") or self._content or content_in(os.environ)
        ready = self._ready()
        self._prepare()
        limits = shared.limits if shared is not None else None
        found = ready.taken_up(run_id, wanted, lambda budget: check_prices(self._choices.models, budget, limits))
        if isinstance(found, RunResult):
            return found
        task = found.task(identity or self._identity, shown, allowed, shared)
        return await ready.controller(on_event or self._on_event, found).run(task)

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _ready(self) -> ConnectedLoop: ...

    @abstractmethod
    def _allowed(self, given: Collection[str] | None) -> frozenset[str] | None: ...
