"""The order of a batch: reads run together, a write is a barrier, tools that depend on each other run in turn.

Decided before anything runs, from the tools' declarations alone. Keeps model order: a group never holds a call that the
model wrote after a barrier with one from before it.
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from traced_loop.closed_words import ScheduleMode, ScheduleReason
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.tool_registry import ToolDefinition

_CONFLICTS: Final = ("serial_group", "depends", "max_parallel")
"""Why a read cannot join the reads before it."""


@frozen_value
class Planned:
    """A call that may be planned; ``asks`` is True when a person is asked at its turn."""

    position: int
    tool: ToolDefinition
    asks: bool = False


@frozen_value
class Group:
    """Calls that run at the same time, by their positions in the batch, and why they are a group."""

    positions: tuple[int, ...]
    mode: ScheduleMode
    reason: ScheduleReason


def plan(calls: Sequence[Planned], max_parallel: int) -> tuple[Group, ...]:
    """The groups of a batch, to be run one after the other.

    A group of reads is closed by a write, by a call that needs a confirmation, by a tool of a serial group or a
    dependency that is in it already, and when it holds ``max_parallel`` calls. The reason of a lone read is what
    separates it from the calls beside it.
    """
    groups: list[Group] = []
    together: list[Planned] = []
    before: ScheduleReason | None = None

    def close(cause: ScheduleReason | None) -> None:
        nonlocal before
        if together:
            positions = tuple(call.position for call in together)
            if len(together) == 1:
                groups.append(Group(positions=positions, mode="serial", reason=before or cause or "only_call"))
            else:
                shared: ScheduleReason = before if before in _CONFLICTS else "reads_together"
                groups.append(Group(positions=positions, mode="parallel", reason=shared))
            together.clear()
        before = cause

    for call in calls:
        if call.tool.effect == "write" or call.asks:
            why: ScheduleReason = "write" if call.tool.effect == "write" else "confirmation"
            close(why)
            groups.append(Group(positions=(call.position,), mode="barrier", reason=why))
            continue
        conflict = _conflict(call, together, max_parallel)
        if conflict is not None:
            close(conflict)
        together.append(call)
    close(None)
    return tuple(groups)


def _conflict(call: Planned, together: Sequence[Planned], max_parallel: int) -> ScheduleReason | None:
    """Why the call cannot join the group, or None."""
    tool = call.tool
    if any(tool.serial_group is not None and tool.serial_group == other.tool.serial_group for other in together):
        return "serial_group"
    if any(other.tool.name in tool.after or tool.name in other.tool.after for other in together):
        return "depends"
    return "max_parallel" if len(together) >= max_parallel else None


def check_order(tools: Mapping[str, ToolDefinition]) -> None:
    """Check that no tool depends on itself, by way of others or not.

    Raises:
        UsageError: one does; the message shows the circle.
    """
    try:
        TopologicalSorter({name: tool.after for name, tool in tools.items()}).prepare()
    except CycleError as error:
        circle = " after ".join(repr(name) for name in reversed(error.args[1]))
        raise UsageError(
            f"tools depend on each other in a circle: {circle}; tools that must not run at the same time share a"
            " serial_group instead"
        ) from None
