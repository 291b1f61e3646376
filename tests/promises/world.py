"""What is around a random run: tools that do everything that tools do, rules, a person; what each was given."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from traced_loop import (
    Approved,
    Cancellation,
    Decision,
    InvalidArguments,
    NotApplied,
    Proposal,
    Rejected,
    ToolError,
    tool,
)
from traced_loop.run_result import Pending
from traced_loop.tool_registry import Tool

from ..skipping_time import ThreadWork


class Unspeakable(Exception):
    """An error that raises when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Hostile:
    """A result that raises when it is looked at."""

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise ZeroDivisionError


RAISES: Final[Mapping[str, Callable[[], BaseException]]] = {
    "tool_error": lambda: ToolError("try b"),
    "transient": lambda: ToolError("busy", transient=True),
    "connection": lambda: ConnectionResetError("lost"),
    "value_error": lambda: ValueError("no"),
    "unspeakable": Unspeakable,
    "not_applied": lambda: NotApplied("closed"),
    "invalid": lambda: InvalidArguments("a is too small"),
    "exit": lambda: SystemExit(1),
    "interrupt": KeyboardInterrupt,
    "cancelled": asyncio.CancelledError,
    "iteration": StopIteration,
}
GIVES: Final[Mapping[str, Callable[[int], Any]]] = {
    "ok": lambda a: a,
    "same": lambda _: "the same",
    "long": lambda _: "x" * 40_000,
    "hostile": lambda _: Hostile(),
    "items": range,
}
WAITS: Final = ("hang", "clings", "slow", "very_slow", "ends_slowly")
"""Of a synchronous tool all but the first are nothing: it cannot be slow without real time."""


@dataclass(frozen=True)
class Ran:
    """An execution as the tool saw it."""

    tool: str
    a: int
    manner: str = "ok"
    key: str | None = None


@dataclass
class World:
    """Tools, rules and a person, and what each of them saw."""

    manners: Mapping[str, tuple[str, ...]]
    stays_done: int = 0
    ran: list[Ran] = field(default_factory=list[Ran])
    approved: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    undone: list[str] = field(default_factory=list[str])
    asked: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    spans: ThreadWork = field(default_factory=lambda: ThreadWork("read", "heeds", "pay"))
    _counts: Counter[str] = field(default_factory=Counter[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tools(self) -> list[Tool]:
        """Reads and writes, synchronous and not, with everything that can be declared."""

        @tool(effect="read", retries=2)
        def read(a: int) -> Any:
            """Read."""
            return self._sync("read", a)

        @tool(effect="read", timeout=5)
        async def later(a: int = 0) -> Any:
            """Read later."""
            return await self._async("later", a)

        @tool(effect="read", retries=1, serial_group="apart", after={"later"})
        async def apart(a: int) -> Any:
            """Read by itself."""
            return await self._async("apart", a)

        @tool(effect="read")
        def heeds(a: int, cancellation: Cancellation) -> Any:
            """Read, and end when told."""
            return self._sync("heeds", a, cancellation=cancellation)

        @tool(effect="write", timeout=4, compensate=self._unsave)
        async def save(a: int) -> Any:
            """Save."""
            return await self._async("save", a)

        @tool(effect="write", risk="high", key=lambda a: f"pay:{a % 2}", compensate=self._unpay)
        def pay(a: int, *, idempotency_key: str) -> Any:
            """Pay."""
            return self._sync("pay", a, idempotency_key)

        return [read, later, apart, heeds, save, pay]

    @staticmethod
    def rule(word: str) -> Callable[[Proposal], Any]:
        """A rule about one tool by what it does, as ``allow:save``; about others it has no opinion."""
        kind, _, name = word.partition(":")

        def said(proposal: Proposal) -> Any:
            if proposal.tool != name:
                return None
            if kind in {"raises", "cancels"}:
                raise Unspeakable if kind == "raises" else asyncio.CancelledError
            return Decision(kind) if kind in {*Decision} else "yes"

        async def later(proposal: Proposal) -> Any:
            await asyncio.sleep(0.5)
            if proposal.tool == name:
                await asyncio.Event().wait()

        asked = later if kind == "hangs" else said
        asked.__name__ = f"rule_{kind}"
        return asked

    def person(self, said: tuple[Any, ...]) -> Callable[[Pending], Any]:
        """Somebody who gives these answers in turn."""

        async def confirm(pending: Pending) -> Any:
            answer = said[self.asked % len(said)]
            self.asked += 1
            if answer == "hangs":
                await asyncio.Event().wait()
            if answer == "raises":
                raise ZeroDivisionError
            await asyncio.sleep(7)
            if answer == "other":
                return Approved(by="ann", fingerprint="of something else")
            if answer is True:
                self.approved.append((pending.tool, int(str(pending.arguments["a"]))))
                return Approved(by="ann", fingerprint=pending.fingerprint)
            return Rejected(by="ann") if answer is False and self.asked % 2 else answer

        return confirm

    async def _unsave(self, a: int) -> None:
        self.undone.append(f"save:{a}")
        await asyncio.sleep(0.1)
        self._give_up(a)

    def _unpay(self, a: int) -> None:
        self.undone.append(f"pay:{a % 2}")
        self._give_up(a)

    def _give_up(self, a: int) -> None:
        if a == self.stays_done:
            raise RAISES["connection" if a % 2 else "not_applied"]()

    def _manner(self, tool: str, a: int, key: str | None = None) -> str:
        with self._lock:
            given = self.manners[tool]
            manner = given[self._counts[tool] % len(given)]
            self._counts[tool] += 1
            self.ran.append(Ran(tool, a, manner, key))
        return manner

    def _sync(self, tool: str, a: int, key: str | None = None, *, cancellation: Cancellation | None = None) -> Any:
        manner = self._manner(tool, a, key)
        if manner in RAISES:
            raise RAISES[manner]()
        if manner in GIVES:
            return GIVES[manner](a)
        if manner == "hang":
            with self.spans.hanging():
                (self.released if cancellation is None else cancellation).wait(20)
        return a

    async def _async(self, tool: str, a: int) -> Any:
        manner = self._manner(tool, a)
        await asyncio.sleep(0)
        if manner in RAISES:
            raise RAISES[manner]()
        if manner in GIVES:
            return GIVES[manner](a)
        while True:
            try:
                await (asyncio.Event().wait() if manner in {"hang", "clings"} else asyncio.sleep(_seconds(manner)))
            except asyncio.CancelledError:
                if manner == "ends_slowly":
                    await asyncio.sleep(3)
                if manner != "clings":
                    raise
                continue
            return a


def _seconds(manner: str) -> float:
    return 40.0 if manner == "very_slow" else 2.0
