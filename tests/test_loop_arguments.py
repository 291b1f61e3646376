"""What a loop is put together from is checked before anything is opened or sent."""

from typing import Any

import pytest

from traced_loop import Policy, ScriptedModel, UsageError, raw_tool, tool
from traced_loop.loop_arguments import check_kinds, check_tools, checked_parameters, first_messages
from traced_loop.tool_registry import ToolRegistry


@tool(effect="read", after={"nowhere"})
def look() -> None:
    """Look."""


@pytest.mark.parametrize(
    ("model", "tools", "policy", "said"),
    [
        ("gpt-5-mini", [], None, "OpenAIModel"),
        (ScriptedModel([]), look, None, r"tools=\[my_tool\]"),
        (ScriptedModel([]), "look", None, r"tools=\[my_tool\]"),
        (ScriptedModel([]), [], "allow", "Policy"),
    ],
)
def test_another_kind_of_thing_is_refused(model: Any, tools: Any, policy: Any, said: str) -> None:
    """In words that say what to write."""
    with pytest.raises(UsageError, match=said):
        check_kinds(model, tools, policy)


def test_tools_that_wait_for_a_tool_that_is_not_there_are_refused() -> None:
    """So are rules about one."""
    with pytest.raises(UsageError, match="nowhere"):
        check_tools(ToolRegistry([look]), Policy())
    raw = raw_tool(lambda: 1, name="x", schema={"type": "object", "properties": {}}, effect="read")
    with pytest.raises(UsageError, match="'y'"):
        check_tools(ToolRegistry([raw]), Policy(allow=["y"]))


def test_a_parameter_that_is_the_loops_own_business_is_refused() -> None:
    """Others are taken as they are."""
    assert checked_parameters({"temperature": 0}) == {"temperature": 0}
    with pytest.raises(UsageError, match="stream"):
        checked_parameters({"stream": True})


def test_a_history_may_be_read_once_only() -> None:
    """What an iterator gives is in the history; one that gives nothing leaves nothing to do."""
    said = [{"role": "user", "content": "hi"}]
    assert first_messages(None, None, (message for message in said)) == said  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="nothing to do"):
        first_messages(None, None, iter(()))  # type: ignore[arg-type]
