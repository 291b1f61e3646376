"""The order of a batch."""

from typing import Any

import pytest

from traced_loop import Loop, ScriptedModel, UsageError, raw_tool
from traced_loop.loop.scheduler import Group, Planned, plan
from traced_loop.tool_registry import ToolDefinition


def definition(name: str, **options: Any) -> ToolDefinition:
    """A tool of that name; a read unless it says otherwise."""
    return raw_tool(lambda: None, name=name, schema={}, **{"effect": "read", **options})


READ = definition("read")
WRITE = definition("write", effect="write")
GROUPED = definition("grouped", serial_group="files")
OTHER = definition("other", serial_group="files")
LATER = definition("later", after={"read"})
ASKED = definition("asked")


def planned(*tools: ToolDefinition, max_parallel: int = 8) -> list[tuple[tuple[int, ...], str, str]]:
    """The groups of such a batch."""
    batch = [Planned(position=n, tool=tool, asks=tool is ASKED) for n, tool in enumerate(tools)]
    return [(group.positions, group.mode, group.reason) for group in plan(batch, max_parallel)]


@pytest.mark.parametrize(
    ("tools", "groups"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([READ], [((0,), "serial", "only_call")], id="one_read"),
        pytest.param([READ, READ], [((0, 1), "parallel", "reads_together")], id="reads"),
        pytest.param([WRITE], [((0,), "barrier", "write")], id="one_write"),
        pytest.param(
            [READ, READ, WRITE, READ],
            [((0, 1), "parallel", "reads_together"), ((2,), "barrier", "write"), ((3,), "serial", "write")],
            id="a_write_is_a_barrier",
        ),
        pytest.param(
            [READ, ASKED], [((0,), "serial", "confirmation"), ((1,), "barrier", "confirmation")], id="a_read_that_asks"
        ),
        pytest.param(
            [GROUPED, OTHER, READ],
            [((0,), "serial", "serial_group"), ((1, 2), "parallel", "serial_group")],
            id="a_serial_group",
        ),
        pytest.param(
            [READ, LATER], [((0,), "serial", "depends"), ((1,), "serial", "depends")], id="after_what_it_depends_on"
        ),
        pytest.param(
            [LATER, READ], [((0,), "serial", "depends"), ((1,), "serial", "depends")], id="never_together_either_way"
        ),
        pytest.param([WRITE, WRITE], [((0,), "barrier", "write"), ((1,), "barrier", "write")], id="two_writes"),
    ],
)
def test_a_batch_is_planned_by_its_tools(tools: list[ToolDefinition], groups: list[Any]) -> None:
    """Model order is kept; what may not run together is apart, and each group says why."""
    assert planned(*tools) == groups


def test_no_group_is_larger_than_allowed() -> None:
    """The rest waits for the next group."""
    assert planned(*[READ] * 5, max_parallel=2) == [
        ((0, 1), "parallel", "reads_together"),
        ((2, 3), "parallel", "max_parallel"),
        ((4,), "serial", "max_parallel"),
    ]


def test_a_group_holds_positions_not_tools() -> None:
    """Refused calls leave gaps, so positions are those of the answer."""
    assert plan([Planned(position=3, tool=READ)], 8) == (Group(positions=(3,), mode="serial", reason="only_call"),)


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({"a": {"b"}, "b": {"a"}}, {"'a' after 'b' after 'a'", "'b' after 'a' after 'b'"}),
        ({"a": {"a"}}, {"'a' after 'a'"}),
    ],
    ids=["each_other", "itself"],
)
def test_tools_that_depend_on_each_other_in_a_circle_are_refused(after: dict[str, Any], circle: set[str]) -> None:
    """When the loop is put together; the message shows the circle."""
    tools = [definition(name, after=depends) for name, depends in after.items()]
    with pytest.raises(UsageError, match="in a circle") as raised:
        Loop(ScriptedModel([]), tools)
    assert any(said in str(raised.value) for said in circle)


def test_tools_may_depend_on_one_tool_by_two_ways() -> None:
    """That is no circle: the two run together, between what they need and what needs them."""
    tools = [
        definition("a"),
        definition("b", after={"a"}),
        definition("c", after={"a"}),
        definition("d", after={"b", "c"}),
    ]
    Loop(ScriptedModel([]), tools)
    assert [positions for positions, _, _ in planned(*tools)] == [(0,), (1, 2), (3,)]
