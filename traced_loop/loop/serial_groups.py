"""Which serial groups are taken: their tools never run at the same time, in one run or in several.

A group is free again when the work in it ends, not when nobody waits for that any more.
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

    def __init__(self, groups: "SerialGroups", group: str | None) -> None:
        self._groups = groups
        self._group = group

    def keep(self, work: RunningWork) -> None:
        """Leave the group when that work is over instead; in whichever thread."""
        group, self._group = self._group, None
        if group is not None:
            work.when_over(lambda _: self._groups.leave(group))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._group is not None:
            self._groups.leave(self._group)


@dataclass(slots=True)
class SerialGroups:
    """The serial groups of one loop."""

    _lock: ForkSafeLock = field(default_factory=ForkSafeLock)
    _taken: dict[str, deque[_Waiter]] = field(default_factory=dict[str, deque[_Waiter]])
    """Groups in which a call runs, with those that wait, first come first."""

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
                self._taken[group] = deque()
                return GroupTurn(self, group)
            loop = asyncio.get_running_loop()
            waiter = _Waiter(loop, loop.create_future())
            waiting.append(waiter)
        try:
            await asyncio.wait({waiter.told}, timeout=max(0.0, seconds))
        except BaseException:
            if self._withdraw(group, waiter):
                self.leave(group)
            raise
        return GroupTurn(self, group) if self._withdraw(group, waiter) else None

    def leave(self, group: str) -> None:
        """The group is free for the next that waits; any thread may call it."""
        with self._lock:
            waiting = self._taken[group]
            while waiting:
                if waiting.popleft().grant():
                    return
            del self._taken[group]

    def _withdraw(self, group: str, waiter: _Waiter) -> bool:
        """Wait no more; whether the group was granted, perhaps in this very moment."""
        with self._lock:
            if not waiter.granted:
                self._taken[group].remove(waiter)
            return waiter.granted
