"""The span tree of every run that a policy decision ends."""

import pytest

from traced_loop import Decision, Opinion, Policy, Proposal, tool
from traced_loop.testing import calls, play


@tool(effect="read")
def look(name: str) -> str:
    """Look something up."""
    return f"about {name}"


@tool(effect="write")
def save(name: str) -> str:
    """Save something."""
    return f"saved {name}"


def never_look(proposal: Proposal) -> Opinion | None:
    """A rule that denies one tool."""
    return Opinion(decision=Decision.DENY, rule="never_look") if proposal.tool == "look" else None


@pytest.mark.parametrize(
    "policy", [Policy(allow={"save"}), Policy(rules=[never_look])], ids=["off_the_allow_list", "by_a_rule"]
)
def test_tool_not_allowed(policy: Policy) -> None:
    """One denied call stops the run before any other call of its answer runs."""
    played = play([calls(("save", {"name": "a"}), ("look", {"name": "a"}))], [look, save], policy=policy)

    assert played.tree() == [
        "invoke_agent agent -> tool_not_allowed ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        "    validate_call save -> valid",
        "    validate_call look -> valid",
        "    authorize_call save -> needs_confirmation",
        "    authorize_call look -> denied",
        "    authorize_call save -> skipped_stop",
        "    append_results",
        "    check_budget step -> ok",
    ]


def test_tool_not_allowed_for_an_unknown_tool() -> None:
    """Where asked for, a name that is not registered stops the run; the name itself is on no span."""
    played = play([calls(("look", {"name": "a"}), ("look_up", {"name": "a"}))], [look], unknown_tool="stop")

    assert played.tree() == [
        "invoke_agent agent -> tool_not_allowed ERROR",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        "    validate_call look -> valid",
        "    validate_call _unknown -> unknown_tool",
        "    authorize_call look -> skipped_stop",
        "    append_results",
        "    check_budget step -> ok",
    ]


def test_confirmation_required() -> None:
    """Without an approver a write pauses the run at its turn: what ran before it stays, what follows is skipped."""
    batch = calls(("look", {"name": "a"}), ("save", {"name": "a"}), ("look", {"name": "b"}))

    played = play([batch], [look, save])

    assert played.tree() == [
        "invoke_agent agent -> confirmation_required",
        "  check_budget request -> ok",
        "  step -> stopped",
        "    chat scripted",
        "    validate_call look -> valid",
        "    validate_call save -> valid",
        "    validate_call look -> valid",
        "    authorize_call look -> allow",
        "    authorize_call save -> needs_confirmation",
        "    authorize_call look -> allow",
        "    check_budget batch -> ok",
        "    execute_tool look -> ok",
        "    authorize_call save -> confirmation_required",
        "    authorize_call look -> skipped_stop",
        "    append_results",
        "    check_budget step -> ok",
    ]
