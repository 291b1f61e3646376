"""Which serial groups are taken: their tools never run at the same time, in one run or in several.

A group is free again when the work in it ends, not when nobody waits for that any more. In a forked child all are free:
what ran in them runs in the parent.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.loop.running_work import RunningWork


@dataclass(eq=False, slots=True)
class _Waiter:
    """A call that waits for its turn, in its own event loop."""

    loop: asyncio.AbstractEventLoop
    told: "asyncio.Future[None]"
    granted: bool = False

    def grant(self) -> bool:
        """Tell it; whether its event loop is still there."""
        self.granted = True
        try:
            self.loop.call_soon_threadsafe(self._tell)
        except RuntimeError:  # closed
            return False
        return True

    def _tell(self) -> None:
        if not self.told.done():
            self.told.set_result(None)


class GroupTurn:
    """A call's turn in its group, or in none; over with its ``with``, unless its work goes on."""

    def __init__(self, groups: "SerialGroups", group: str | None, waiting: "deque[_Waiter] | None" = None) -> None:
        self._groups = groups
        self._group = group
        self._waiting = waiting

    def keep(self, work: RunningWork) -> None:
        """Leave the group when that work is over instead; in whichever thread."""
        group, self._group, waiting = self._group, None, self._waiting
        if group is not None and waiting is not None:
            work.when_over(lambda _: self._groups.leave(group, waiting))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._group is not None and self._waiting is not None:
            self._groups.leave(self._group, self._waiting)


@dataclass(slots=True)
class SerialGroups:
    """The serial groups of one loop."""

    _taken: dict[str, deque[_Waiter]] = field(default_factory=dict[str, deque[_Waiter]])
    """Groups in which a call runs, with those that wait, first come first."""
    _lock: ForkSafeLock = field(init=False)

    def __post_init__(self) -> None:
        """A forked child begins with none taken."""
        self._lock = ForkSafeLock(self._taken.clear)

    async def enter(self, group: str | None, seconds: float) -> GroupTurn | None:
        """Take a group once it is free; None when it is not within that many seconds.

        Raises:
            CancelledError: the waiter was cancelled; it waits no more.
        """
        if group is None:
            return GroupTurn(self, None)
        with self._lock:
            waiting = self._taken.get(group)
            if waiting is None:
                self._taken[group] = waiting = deque[_Waiter]()
                return GroupTurn(self, group, waiting)
            loop = asyncio.get_running_loop()
            waiter = _Waiter(loop, loop.create_future())
            waiting.append(waiter)
        try:
            await asyncio.wait({waiter.told}, timeout=max(0.0, seconds))
        except BaseException:
            if self._withdraw(waiting, waiter):
                self.leave(group, waiting)
            raise
        return GroupTurn(self, group, waiting) if self._withdraw(waiting, waiter) else None

    def leave(self, group: str, waiting: deque[_Waiter]) -> None:
        """The group is free for the next of those that wait; any thread may call it.

        A turn that was taken before the process forked is none in the child, and frees nothing there.
        """
        with self._lock:
            if self._taken.get(group) is not waiting:
                return
            while waiting:
                if waiting.popleft().grant():
                    return
            del self._taken[group]

    def _withdraw(self, waiting: deque[_Waiter], waiter: _Waiter) -> bool:
        """Wait no more; whether the group was granted, perhaps in this very moment."""
        with self._lock:
            if not waiter.granted:
                waiting.remove(waiter)
            return waiter.granted
