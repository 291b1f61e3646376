"""The four runs that ``demo`` plays: an answer, a correction, a limit, a confirmation."""

from traced_loop.models.scripted import calls
from traced_loop.outcomes import StopReason
from traced_loop.rules.budget import Budget
from traced_loop.scenarios.scripted_run import ScriptedRun
from traced_loop.tools import calculator, create_ticket, multiply, query_order, search_docs


def demo_runs() -> tuple[ScriptedRun, ...]:
    """The story, in order."""
    return (_answer(), _correction(), _limit(), _confirmation())


def _answer() -> ScriptedRun:
    return ScriptedRun(
        name="two-calls",
        title="An answer with two calls",
        shows="both reads run together; each call id has one outcome; tokens and cost stand on the chat spans",
        prompt="How do limits work, and what is 18 * (4 + 2)?",
        script=[
            calls(("search_docs", {"query": "budget limits"}), ("calculator", {"expression": "18 * (4 + 2)"})),
            "Limits are checked before anything is spent, and 18 * (4 + 2) = 108.",
        ],
        tools=[search_docs, calculator],
        expected=StopReason.FINAL_ANSWER,
    )


def _correction() -> ScriptedRun:
    return ScriptedRun(
        name="correction",
        title="A wrong argument, corrected",
        shows="the first call is refused before it runs and names the field; nothing is coerced; the second one runs",
        prompt="What is 62 times 60?",
        script=[
            calls(("multiply", {"a": "62", "b": 60})),
            calls(("multiply", {"a": 62, "b": 60})),
            "62 times 60 is 3720.",
        ],
        tools=[multiply],
        expected=StopReason.FINAL_ANSWER,
    )


def _limit() -> ScriptedRun:
    again = calls(("query_order", {"order_id": "A101"}))
    return ScriptedRun(
        name="limit",
        title="A run that is stopped by its limit",
        shows="the same question again and again is flagged; the check before the fourth request refuses it",
        prompt="Tell me when order A101 is delivered.",
        script=[again, again, again],
        tools=[query_order],
        expected=StopReason.MAX_STEPS_EXCEEDED,
        options={"budget": Budget(steps=3)},
    )


def _confirmation() -> ScriptedRun:
    ticket = {"title": "Parcel A102 arrived open", "body": "Please check the contents.", "request_id": "mail-5501"}
    return ScriptedRun(
        name="confirmation",
        title="A write that waits for a person",
        shows="a write never runs on the model's word alone: the run pauses before it, and nothing has happened",
        prompt="Open a ticket: parcel A102 arrived open.",
        script=[calls(("query_order", {"order_id": "A102"}), ("create_ticket", ticket))],
        tools=[query_order, create_ticket],
        expected=StopReason.CONFIRMATION_REQUIRED,
    )
