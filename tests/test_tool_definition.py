"""What is declared about a tool must make sense, or is refused with what to write instead."""

from typing import Any

import pytest

from traced_loop import Loop, Policy, ScriptedModel, UsageError, raw_tool, tool
from traced_loop.tool_registry import ToolRegistry, definition_of


def undo(name: str) -> None:
    """Undo."""


@tool(effect="write", serial_group="db", risk="high", content=False, compensate=undo)
def create(name: str) -> None:
    """Create."""


@tool(effect="write", timeout=3)
def delete(name: str) -> None:
    """Delete."""


def test_a_function_that_undoes_takes_after_its_tool() -> None:
    """Group, risk and what stays home; its name is its own."""
    found = definition_of(create).compensate
    assert found is not None
    assert (found.name, found.effect, found.serial_group, found.risk, found.content) == (
        "undo",
        "write",
        "db",
        "high",
        False,
    )


def test_one_without_a_name_has_its_tools() -> None:
    """A span needs one."""

    @tool(effect="write", compensate=lambda name: None)
    def make(name: str) -> None:
        """Make."""

    found = definition_of(make).compensate
    assert found is not None
    assert found.name == "undo_make"


def test_a_tool_that_undoes_keeps_its_declarations() -> None:
    """It is the same, whoever calls it."""

    @tool(effect="write", compensate=delete)
    def make(name: str) -> None:
        """Make."""

    assert definition_of(make).compensate is definition_of(delete)
    assert ToolRegistry([make, delete]).compensations == {"delete"}


@tool(effect="read")
def look(name: str) -> None:
    """Look."""


def make(name: str) -> None:
    """Make."""


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"effect": "read", "compensate": undo}, "a read changes nothing"),
        ({"effect": "write", "compensate": look}, "is declared a read"),
        ({"effect": "write", "compensate": "undo"}, "compensate is a str: give a function or a tool"),
        ({"effect": "write", "compensate": lambda other: None}, "'other', which is no parameter of the tool"),
        ({"effect": "read", "repeatable": True}, "a read may always be made again"),
        ({"effect": "write", "repeatable": True, "key": lambda name: name}, "give one of them"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    """In code and in raw schema alike."""
    with pytest.raises(UsageError, match=said):
        tool(**options)(make)
    with pytest.raises(UsageError, match=said):
        raw_tool(make, name="make", schema={**SCHEMA, "required": ["name"]}, **options)


def test_a_raw_tool_may_leave_out_what_its_schema_does_not_require() -> None:
    """So its compensation cannot count on it."""
    with pytest.raises(UsageError, match="may be left out of a call"):
        raw_tool(lambda **_: None, name="make", schema=SCHEMA, effect="write", compensate=undo)


def test_two_things_of_one_name_are_refused() -> None:
    """A rule or a span about one would be about the other."""

    @tool(effect="write", name="undo")
    def other(name: str) -> None:
        """Do something else."""

    with pytest.raises(UsageError, match="called 'undo'"):
        ToolRegistry([create, other])


def test_what_undoes_a_tool_can_be_denied_by_name() -> None:
    """Though no model is offered it; it cannot be allowed to one."""
    Loop(ScriptedModel([]), [create], policy=Policy(deny={"undo"}), store=None, ledger="memory")
    with pytest.raises(UsageError, match="no tool of this loop"):
        Loop(ScriptedModel([]), [create], policy=Policy(allow={"undo"}), store=None, ledger="memory")
