"""The engine inside of the process: does each step at once and keeps none, since transcript and ledger hold it all."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from traced_loop.cancellation import CANCEL
from traced_loop.engine import Body
from traced_loop.errors import UsageError
from traced_loop.fork_safe_lock import ForkSafeLock


@dataclass(eq=False, kw_only=True, slots=True)
class _Going:
    """A run that goes on, and whether it was cancelled here."""

    loop: asyncio.AbstractEventLoop
    task: "asyncio.Task[object]"
    is_cancelled: bool = False


class EmbeddedEngine:
    """See ``Engine``; knows the runs that go on in this process, and nothing of others."""

    keeps_steps = False

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._going: dict[str, list[_Going]] = {}
        """Ids are unique but where somebody makes them otherwise; then each run of one is meant."""

    async def start(self, run_id: str, task: str, body: Body) -> None:
        """See ``Engine.start``; what else cancels the caller's task is raised."""
        current = asyncio.current_task()
        if current is None:
            raise RuntimeError("a run goes on in a task of an event loop")
        going, before = _Going(loop=asyncio.get_running_loop(), task=current), current.cancelling()
        with self._lock:
            self._going.setdefault(run_id, []).append(going)
        try:
            await body(task)
        except asyncio.CancelledError:
            if not going.is_cancelled or current.cancelling() - 1 > before:
                raise
        finally:
            self._over(run_id, going)
            if going.is_cancelled:
                current.uncancel()

    async def resume(self, run_id: str, body: Body) -> None:
        """See ``Engine.resume``; there is never such a task.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"nothing keeps the steps of run {run_id}: give the loop an engine= that does")

    def cancel(self, run_id: str) -> bool:
        """See ``Engine.cancel``."""
        with self._lock:
            found = list(self._going.get(run_id, ()))
        told = [self._tell(run_id, going) for going in found]
        return True in told

    def is_cancelled(self, run_id: str) -> bool:
        """See ``Engine.is_cancelled``; the run's task was told so itself, and need not ask."""
        return False

    async def step(self, run_id: str, name: str, do: Callable[[], Awaitable[str]]) -> str:
        """See ``Engine.step``."""
        return await do()

    def _tell(self, run_id: str, going: _Going) -> bool:
        def end() -> None:
            # Asked again on the run's own event loop: the task of a run that is over does something else by now.
            if going in self._going.get(run_id, ()) and not going.is_cancelled:
                going.is_cancelled = True
                going.task.cancel(CANCEL)

        try:
            going.loop.call_soon_threadsafe(end)
        except RuntimeError:  # its event loop was closed
            return False
        return True

    def _over(self, run_id: str, going: _Going) -> None:
        with self._lock:
            left = [other for other in self._going.get(run_id, ()) if other is not going]
            if left:
                self._going[run_id] = left
            else:
                self._going.pop(run_id, None)
