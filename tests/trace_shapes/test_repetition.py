"""The span tree of a run that is stopped because it repeats itself."""

from traced_loop import tool
from traced_loop.testing import calls, play


@tool(effect="read")
def look(name: str) -> str:
    """Look."""
    return f"{name} is here"


AGAIN = [
    "  check_budget request -> ok",
    "  step -> calls_handled",
    "    chat scripted",
    "    validate_call look -> valid",
    "    authorize_call look -> allow",
    "    check_budget batch -> ok",
    "    execute_tool look -> ok",
    "    append_results",
    "    check_budget step -> ok",
]


def test_repetition_detected() -> None:
    """No limit is exceeded: the check after the last step says what was repeated, and that it ended the run."""
    played = play([calls(("look", {"name": "a"}))] * 4, [look])
    last = [line.replace("step -> calls_handled", "step -> stopped") for line in AGAIN]
    assert played.tree() == ["invoke_agent agent -> repetition_detected ERROR", *AGAIN * 3, *last]
    decided = [span.name for span in played.spans.ended_spans if "traced_loop.run.stop_reason" in span.attributes]
    assert decided == ["traced_loop.check_budget", "invoke_agent agent"]
