"""The steps of a run, asked of its engine: done where the engine has not kept them, else taken from what it kept.

Opens a ``traced_loop.replay`` span for a step that is not done again.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from traced_loop import names
from traced_loop.cancellation import CANCEL
from traced_loop.engine import Engine, keys_step, tool_step
from traced_loop.errors import UsageError
from traced_loop.loop.kept_steps import (
    FORM,
    KeptTurn,
    asked_next,
    kept_text,
    response_in,
    response_value,
    turn_in,
    turn_value,
)
from traced_loop.loop.model_client import Response
from traced_loop.loop.run_state import RunState
from traced_loop.loop.validator import ValidCall
from traced_loop.messages import ToolResult
from traced_loop.telemetry.spans import Span, Telemetry

T = TypeVar("T")

KeyNumbers = Mapping[int, tuple[int, int]]
"""By the place of a call in its answer: which of the keys of its write it has, and how often that was done before."""


class EngineSteps:
    """Asks one engine, for the runs of one loop."""

    def __init__(self, engine: Engine, telemetry: Telemetry) -> None:
        self._engine = engine
        self._telemetry = telemetry
        self.keeps = engine.keeps_steps

    async def model(self, state: RunState, name: str, ask: Callable[[], Awaitable[Response]]) -> Response:
        """The answer of a model request.

        Args:
            state: of the run.
            name: of the step.
            ask: sends the request.

        Raises:
            UsageError: the engine has kept the answer to another history.
            CancelledError: the run is to be cancelled.
        """
        asked = self._history(state)
        made, kept = await self._step(state, name, asked, ask, response_value)
        if made:
            return made[-1]
        response = response_in(kept)
        stop = response.verdict.stop if not state.last_request else None
        start = {
            names.STEP_INDEX: state.steps + state.last_request,
            names.REPLAY_STEP: name,
            names.RUN_STOP_REASON: stop,
        }
        links = () if response.span is None else (response.span,)
        with self._telemetry.span(names.REPLAY, start, links=links, brief=True):
            return response

    async def keys(self, state: RunState, calls: Sequence[ValidCall], make: Callable[[], KeyNumbers]) -> KeyNumbers:
        """The keys of an answer's calls, made now or as they were.

        Raises:
            UsageError: the engine has kept those of other calls.
            CancelledError: the run is to be cancelled.
        """

        async def now() -> KeyNumbers:
            return make()

        def value(made: KeyNumbers) -> dict[str, Any]:
            return {"keys": {str(place): list(each) for place, each in made.items()}}

        if not self.keeps or all(valid.tool.effect == "read" for valid in calls):
            return make()
        asked = asked_next("", [_asked(valid) for valid in calls])
        made, kept = await self._step(state, keys_step(state.steps), asked, now, value)
        return made[-1] if made else {int(place): (each[0], each[1]) for place, each in kept["keys"].items()}

    async def turn(
        self,
        state: RunState,
        valid: ValidCall,
        take: Callable[[], Awaitable[ToolResult]],
        keep: Callable[[ToolResult], KeptTurn],
    ) -> ToolResult | KeptTurn:
        """The result of a call at its turn, or what came of it before.

        Args:
            state: of the run.
            valid: the call.
            take: takes its turn.
            keep: what is to be kept of that; asked only where an engine keeps it.

        Raises:
            UsageError: the engine has kept what came of another call.
            CancelledError: the run is to be cancelled.
        """
        name = tool_step(state.steps, valid.call.index, valid.tool.name)
        asked = asked_next("", [_asked(valid)]) if self.keeps else ""
        made, kept = await self._step(state, name, asked, take, lambda result: turn_value(keep(result)))
        return made[-1] if made else turn_in(kept)

    def replayed(self, state: RunState, valid: ValidCall, kept: KeptTurn, shown: Mapping[str, Any]) -> Span:
        """Show a call whose turn is not taken again; held where it stopped the run."""
        start = {
            **kept.marks,
            **shown,
            **valid.marks,
            names.CALL_ID: valid.call.id,
            names.CALL_TOOL: valid.tool.name,
            names.CALL_INDEX: valid.call.index,
            names.CALL_OUTCOME: kept.outcome,
            names.REPLAY_STEP: tool_step(state.steps, valid.call.index, valid.tool.name),
        }
        links = () if kept.span is None else (kept.span,)
        with self._telemetry.span(names.REPLAY, start, links=links, brief=True) as span:
            if kept.stops:
                span.hold()
        return span

    async def _step(
        self,
        state: RunState,
        name: str,
        asked: str,
        make: Callable[[], Awaitable[T]],
        value: Callable[[T], dict[str, Any]],
    ) -> tuple[list[T], Mapping[str, Any]]:
        """What a step made; or nothing, and what is kept of it."""
        if self._engine.is_cancelled(state.run_id):
            raise asyncio.CancelledError(CANCEL)
        made: list[T] = []

        async def do() -> str:
            made.append(await make())
            if not self.keeps:
                return ""
            spent = {"seconds": state.active_seconds(), "waited": state.waited}
            return kept_text({"asked": asked, "spent": spent, **value(made[-1])})

        text = await self._engine.step(state.run_id, name, do)
        if made:
            return made, {}
        kept: dict[str, Any] = json.loads(text)
        if kept["form"] != FORM:
            raise UsageError(f"the engine kept {name} of run {state.run_id} in a form that this version cannot read")
        if kept["asked"] != asked:
            raise UsageError(
                f"what the engine kept as {name} of run {state.run_id} answers something else: rules, tools or options"
                " are others than they were; run it again with those, or start a new run"
            )
        state.replayed += 1
        state.catch_up(**kept["spent"])
        return made, kept

    def _history(self, state: RunState) -> str:
        if not self.keeps:
            return ""
        seen, before = state.asked
        messages = state.history.messages
        state.asked = len(messages), asked_next(before, messages[seen:])
        return state.asked[1]


def _asked(valid: ValidCall) -> dict[str, Any]:
    return {"tool": valid.tool.name, "arguments": valid.json_arguments}
