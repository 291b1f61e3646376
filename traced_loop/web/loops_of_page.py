"""The loop that lets stored runs go on from the page: its model, tools and policy are those that ``web`` was given."""

import threading
from collections.abc import Callable, Mapping
from typing import Final

from traced_loop.errors import TracedLoopError, typed_words
from traced_loop.events import Event
from traced_loop.outcomes import StopReason
from traced_loop.public_loop import Loop
from traced_loop.run_result import Pending, RunResult
from traced_loop.tool_registry import ToolRegistry
from traced_loop.waiting_calls import WaitingCall, WaitingRun

NO_TOOLS: Final = ToolRegistry(())


class LoopsOfPage:
    """What can run here."""

    def __init__(self, make: Callable[[str], Loop], tools: ToolRegistry = NO_TOOLS, *, model: str = "") -> None:
        """Offer a loop; it is made when it is first needed.

        Args:
            make: makes it with a key, ``""`` for the one of the environment; raises UsageError where there is no model,
                or no key for it.
            tools: that it has.
            model: that it asks; ``""`` for none.
        """
        self.tools = tools
        self.model = model
        self._make = make
        self._made: Loop | None = None
        self._lock = threading.Lock()

    def loop(self, key: str = "") -> Loop:
        """The loop; with a key that was typed, one of its own that nothing holds but its caller.

        Raises:
            UsageError: there is no model, or no key for it; the message says what to do.
        """
        if key:
            return self._make(key)
        with self._lock:
            if self._made is None:
                self._made = self._make("")
            return self._made

    def why_not(self, key: str = "") -> str:
        """Why nothing can go on here, as a sentence in English; ``""`` where it can.

        Args:
            key: ``""`` for the one of the environment; another one to see whether that is all that is missing.
        """
        try:
            self.loop(key)
        except TracedLoopError as error:
            return typed_words(error)
        return ""


def go_on(
    loop: Loop, run: WaitingRun, said: Mapping[str, bool], *, by: str, tell: Callable[[Event], None]
) -> RunResult:
    """Let a run go on with what a person said about exactly these calls.

    Calls behind those that wait are asked about by the run itself when it is their turn; one of which something was
    said is answered then, where the question is the one that the person was shown, and else left to wait.

    Args:
        loop: what carries it.
        run: as it was shown.
        said: of calls by id, whether they may run; nothing of a call that is left as it is.
        by: who says so.
        tell: told what happens.

    Raises:
        UsageError: the run has gone on since, or cannot.
        StoreError: the store cannot be used.
    """
    left = {call.id: call for call in run.behind if call.id in said}
    now, trace_id = [call.id for call in run.waiting if call.id in said], run.trace_id
    while True:
        result = loop.resume(
            run.run_id,
            confirm=[call for call in now if said[call]],
            reject=[call for call in now if not said[call]],
            by=by,
            trace_id=trace_id,
            on_event=tell,
        )
        now, trace_id = _asked_next(result, run, left), result.trace_id
        if not now:
            return result


def _asked_next(result: RunResult, run: WaitingRun, left: dict[str, WaitingCall]) -> list[str]:
    """The calls that are asked about now and were answered before; each is answered once."""
    places = (place for place, message in enumerate(result.messages) if message.get("role") == "assistant")
    if result.stop_reason is not StopReason.CONFIRMATION_REQUIRED or max(places, default=-1) != run.answer:
        return []
    asked = (left.pop(each.call.id) for each in result.pending if _is_same(each, left.get(each.call.id)))
    return [call.id for call in asked]


def _is_same(pending: Pending, shown: WaitingCall | None) -> bool:
    if shown is None or not shown.fingerprint:
        return False
    return (pending.tool, pending.fingerprint, pending.rule) == (shown.tool, shown.fingerprint, shown.rule)
