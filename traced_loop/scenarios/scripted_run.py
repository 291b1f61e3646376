"""A scripted run to be played: what it shows, its script, its tools, its options."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from traced_loop.events import Event
from traced_loop.frozen_value import frozen_value
from traced_loop.models.scripted import Line, ScriptedModel
from traced_loop.outcomes import StopReason
from traced_loop.public_loop import Loop
from traced_loop.rules.pricing import Price
from traced_loop.run_result import RunResult
from traced_loop.setup import StoreChoice
from traced_loop.tool_registry import Tool

SCRIPT_PRICE: Final = Price(input="0.25", output="2", cached_input="0.025")
"""A made-up price, so that scripted runs show a cost; nothing is billed."""


@frozen_value
class ScriptedRun:
    """One run of a story.

    Attributes:
        name: short, the agent's name on its spans.
        title: one line for people.
        shows: what to look at in its trace.
        prompt: what the user says.
        script: see ``ScriptedModel``.
        tools: what the model may call.
        expected: the stop reason that it ends with.
        options: other arguments of ``Loop``.
    """

    name: str
    title: str
    shows: str
    prompt: str
    script: Sequence[Line]
    tools: Sequence[Tool]
    expected: StopReason
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def play(self, store: StoreChoice, on_event: Callable[[Event], None] | None = None) -> RunResult:
        """Run it, recorded in the store.

        Raises:
            ScriptError: the loop asked for more or for less than the script holds.
            StoreError: the store cannot be used.
        """
        model = ScriptedModel(self.script, price=SCRIPT_PRICE)
        loop = Loop(model, self.tools, name=self.name, store=store, on_event=on_event, **self.options)
        result = loop.run(self.prompt)
        model.check_finished()
        return result
