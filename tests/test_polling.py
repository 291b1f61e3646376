"""Tools that are meant to be asked again and again."""

from typing import Any

import pytest

from traced_loop import Poll, ToolDefinition, UsageError, raw_tool, tool
from traced_loop.tool_registry import definition_of


def definition(**options: Any) -> ToolDefinition:
    """A read with these options."""

    @tool(effect=options.pop("effect", "read"), **options)
    def status(job: str) -> str:
        """Ask."""
        return job

    return definition_of(status)


def test_true_stands_for_the_usual_allowance() -> None:
    """A number of its own goes with ``Poll``."""
    assert definition(poll=True).poll == Poll(unchanged=20)
    assert definition(poll=Poll(unchanged=3)).poll == Poll(unchanged=3)
    assert definition().poll is None


def test_a_raw_tool_can_be_a_poll_too() -> None:
    """Likewise."""
    raw = raw_tool(lambda: 1, name="s", schema={"type": "object", "properties": {}}, effect="read", poll=True)
    assert raw.poll == Poll()


@pytest.mark.parametrize("wrong", [{"poll": 5}, {"poll": "yes"}, {"effect": "write", "poll": True}])
def test_what_cannot_be_a_poll_is_refused(wrong: dict[str, Any]) -> None:
    """A write that is polled would be done again and again."""
    with pytest.raises(UsageError, match="poll"):
        definition(**wrong)


def test_a_write_does_more_than_think() -> None:
    """So it cannot be neutral."""
    with pytest.raises(UsageError, match="neutral"):
        definition(effect="write", neutral=True)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_an_allowance_is_a_whole_number(wrong: Any) -> None:
    """Of at least one."""
    with pytest.raises(UsageError, match="unchanged"):
        Poll(unchanged=wrong)
