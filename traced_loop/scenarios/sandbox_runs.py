"""The three runs that ``sandbox`` plays: a good one, one with a tool that does not exist, one that would never end."""

from typing import Literal

from traced_loop.models.scripted import calls
from traced_loop.outcomes import StopReason
from traced_loop.scenarios.scripted_run import ScriptedRun
from traced_loop.tools import query_order

Mode = Literal["normal", "unknown_tool", "loop_forever"]

ASKED = 4
"""Requests of the endless run until it is stopped: the third equal step is nudged, the fourth is the last."""

_ASK = calls(("query_order", {"order_id": "A100"}))
_PROMPT = "Where is order A100?"


def sandbox_run(mode: Mode) -> ScriptedRun:
    """The run of a mode."""
    if mode == "normal":
        return ScriptedRun(
            name="sandbox",
            title="An order is looked up and the question answered",
            shows="the call's id stands on its request, its result and its spans",
            prompt=_PROMPT,
            script=[_ASK, "Order A100 has been shipped."],
            tools=[query_order],
            expected=StopReason.FINAL_ANSWER,
        )
    if mode == "unknown_tool":
        return ScriptedRun(
            name="sandbox",
            title="The model calls a tool that is not registered",
            shows="nothing runs on a guess; the call is answered and the run stops",
            prompt=_PROMPT,
            script=[calls(("cancel_order", {"order_id": "A100"}))],
            tools=[query_order],
            expected=StopReason.TOOL_NOT_ALLOWED,
            options={"unknown_tool": "stop"},
        )
    return ScriptedRun(
        name="sandbox",
        title="The model asks the same question for ever",
        shows="the repetition is seen, the model is told to try something else, and as it does not, the run is stopped",
        prompt=_PROMPT,
        script=[_ASK] * ASKED,
        tools=[query_order],
        expected=StopReason.REPETITION_DETECTED,
    )
