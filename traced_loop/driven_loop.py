"""A loop's runs as its engine carries them: the task as text that another process can read, begun, again, cancelled."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from traced_loop.background_loop import run_blocking
from traced_loop.closed_words import OnToolError
from traced_loop.engine import Engine
from traced_loop.errors import UsageError
from traced_loop.events import Event
from traced_loop.loop.embedded_engine import EmbeddedEngine
from traced_loop.loop.loop_controller import LoopController
from traced_loop.loop.policy import Identity
from traced_loop.loop.task import Task
from traced_loop.loop_arguments import writes
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.run_result import RunResult, partial_result
from traced_loop.telemetry.content.capture import ContentCapture
from traced_loop.tool_registry import ToolRegistry

_FORM: Final = 1
"""Of a kept task."""
EMBEDDED: Final = EmbeddedEngine()
"""Of all loops of the process, so that any of them can cancel a run by its id."""


class DrivenLoop(ABC):
    """What a loop can do about runs that go on, or that went on in another process."""

    _engine: Engine
    _shared_budget: SharedBudget | None

    def cancel(self, run_id: str) -> bool:
        """End a run; from any thread. It stops with ``cancelled``, and ``run`` returns what it had reached.

        Without an ``engine=`` that is a run of any loop of this process. A tool that does not return is left behind.

        Args:
            run_id: as ``RunStarted`` tells it.

        Returns:
            False where it is known that no such run goes on.
        """
        return self._engine.cancel(run_id)

    def take_over(self, run_id: str) -> RunResult:
        """Run again what a process has begun and not ended; see ``atake_over``."""
        return run_blocking(self.atake_over(run_id))

    async def atake_over(self, run_id: str) -> RunResult:
        """Run again what a process has begun and not ended, under the loop's ``engine=``: what that engine calls, too.

        Steps that the engine has kept are not done again: no request, no tool, no question. The loop has to be as it
        was; its own ``on_event`` and ``shared_budget`` count. What its store holds of a dead process is recovered.

        Raises:
            UsageError: the engine has no such task, or what it kept answers something else.
            StoreError: the local store cannot be used.
        """

        async def again(text: str) -> RunResult:
            task, controller = _task_in(text, self._shared_budget), self._controller(None)
            _recover(self._store_folder(), run_id)
            return await controller.run(task)

        return await _carried(self._engine, run_id, None, again)

    async def _start(self, task: Task, on_event: Callable[[Event], None] | None) -> RunResult:
        text = _task_text(task) if self._engine.keeps_steps else ""
        return await _carried(self._engine, task.run_id, text, lambda _text: self._controller(on_event).run(task))

    @abstractmethod
    def _store_folder(self) -> str | None: ...

    @abstractmethod
    def _controller(self, on_event: Callable[[Event], None] | None) -> LoopController: ...


def checked_engine(
    engine: Engine | None, registry: ToolRegistry, on_tool_error: OnToolError, *, in_memory: bool
) -> Engine:
    """The engine of a loop, or the embedded one.

    Raises:
        UsageError: it would do something twice.
    """
    if engine is None:
        return EMBEDDED
    if engine.keeps_steps and on_tool_error == "compensate":
        raise UsageError(
            "compensations are no steps of their own, so a run that is run again could undo twice: leave out engine="
            ' or on_tool_error="compensate"'
        )
    if engine.keeps_steps and in_memory and writes(registry):
        raise UsageError(
            "a run that is run again must know which writes were done, and a ledger in memory is gone with its process:"
            " give the loop a store"
        )
    return engine


async def _carried(
    engine: Engine, run_id: str, task: str | None, run: Callable[[str], Awaitable[RunResult]]
) -> RunResult:
    """The result of a run that the engine begins, or begins again where there is no task to give it."""
    reached: list[RunResult] = []

    async def body(text: str) -> None:
        try:
            reached.append(await run(text))
        except BaseException as error:
            left = partial_result(error)
            reached.extend([] if left is None else [left])
            if not (isinstance(error, asyncio.CancelledError) and left is not None and _asked_to(engine, run_id)):
                raise

    await (engine.resume(run_id, body) if task is None else engine.start(run_id, task, body))
    if not reached:
        raise UsageError(f"the engine did not run {run_id}: it is over, or goes on elsewhere")
    return reached[-1]


def _recover(folder: str | None, run_id: str) -> None:
    """Bring what a store holds of a run to its end, where its process is dead: the spans that follow are another's."""
    if folder is None:
        return
    # What reads a store is slow to import, and no other run needs it.
    from traced_loop.read.local_store import LocalStore
    from traced_loop.records.store import Store
    from traced_loop.recovery.recover import recover

    with LocalStore.open(folder) as reader:
        is_dead = run_id in reader.dead_runs()
    if is_dead:
        recover(Store.open(Path(folder)), run_id)


def _asked_to(engine: Engine, run_id: str) -> bool:
    """Whether it was the engine that wanted a run cancelled, and nobody who cancels the task that waits for it."""
    task = asyncio.current_task()
    return engine.is_cancelled(run_id) and (task is None or not task.cancelling())


def _task_text(task: Task) -> str:
    identity = task.identity
    kept = {
        "form": _FORM,
        "run_id": task.run_id,
        "messages": list(task.messages),
        "identity": None if identity is None else {"id": identity.id, "roles": sorted(identity.roles)},
        "session_id": task.session_id,
        "content": asdict(task.content),
        "allow_tools": None if task.allow_tools is None else sorted(task.allow_tools),
    }
    return json.dumps(kept, separators=(",", ":"))


def _task_in(text: str, shared: SharedBudget | None) -> Task:
    kept: dict[str, Any] = json.loads(text)
    if kept["form"] != _FORM:
        raise UsageError("the engine kept a task in a form that this version cannot read")
    identity, allowed = kept["identity"], kept["allow_tools"]
    return Task(
        run_id=kept["run_id"],
        messages=kept["messages"],
        identity=None if identity is None else Identity(id=identity["id"], roles=frozenset(identity["roles"])),
        session_id=kept["session_id"],
        content=ContentCapture(**kept["content"]),
        allow_tools=None if allowed is None else frozenset(allowed),
        shared_budget=shared,
    )
