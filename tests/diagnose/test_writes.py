"""What a run that did not end well has written stands first among what is found of it."""

from __future__ import annotations

from typing import Any

from traced_loop import NotApplied, Policy, tool
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.writes import writes
from traced_loop.testing import calls

from .stored_runs import played_run


async def cancel(name: str) -> str:
    """Undoes."""
    return name


@tool(effect="write", compensate=cancel)
async def reserve(name: str) -> str:
    """Can be undone."""
    return name


@tool(effect="write")
async def note(name: str) -> str:
    """Cannot be undone."""
    return name


@tool(effect="write")
async def charge() -> str:
    """Refuses."""
    raise NotApplied("card declined")


@tool(effect="write")
async def send() -> str:
    """Breaks off."""
    raise OSError("gone")


YES: dict[str, Any] = {"policy": Policy(confirm=lambda _: True), "max_parallel": 1}
BATCH = calls(("reserve", {"name": "a"}), ("note", {"name": "b"}), ("charge", {}))


def found_in(*script: Any, **options: Any) -> list[Finding]:
    """What is found of the writes of a run."""
    return writes(played_run(script, [reserve, note, charge, send], **YES, **options))


def test_what_stays_done_is_named_first() -> None:
    """Of a run that a failed tool ended."""
    run = played_run([BATCH], [reserve, note, charge], on_tool_error="stop", **YES)

    first = diagnose(run).findings[0]

    assert (first.kind, first.severity) == (FindingKind.WRITES, Severity.ERROR)
    assert first.title == "done and NOT undone: reserve (call_1), note (call_2)"
    assert "compensate" in first.prevent


def test_what_was_undone_is_told_as_undone() -> None:
    """By its compensation; what has none stays done."""
    script = [BATCH, *[calls(("charge", {}))] * 2]
    [found] = found_in(*script, on_tool_error="compensate")

    assert found.title == "done and NOT undone: note (call_2); done and undone: reserve (call_1)"
    assert found.numbers == {"not_undone": 1, "unknown": 0, "undone": 1}


def test_what_was_undone_is_told_of_a_run_that_ended_well_too() -> None:
    """What stays done there was wanted."""
    [found] = found_in(BATCH, "done", on_tool_error="compensate")

    assert (found.title, found.severity) == ("done and undone: reserve (call_1)", Severity.NOTE)


def test_a_write_of_which_nobody_knows_is_named_beside_what_was_done() -> None:
    """The run ends there."""
    [found] = found_in(calls(("reserve", {"name": "a"}), ("send", {})))

    assert found.title == "done and NOT undone: reserve (call_1); nobody knows whether it is done: send (call_2)"
    assert found.prevent.startswith("look whether send was applied")


def test_a_run_that_ended_well_or_wrote_nothing_has_no_such_finding() -> None:
    """Whatever else became of it."""
    assert found_in(calls(("reserve", {"name": "a"})), "done") == []
    assert found_in(calls(("charge", {})), on_tool_error="stop") == []
