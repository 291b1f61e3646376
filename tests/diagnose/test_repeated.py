"""What the detector finds in a stored run becomes findings with their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from traced_loop import Policy, names, tool
from traced_loop.closed_words import RepetitionReaction
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.repeated import repeated
from traced_loop.read.agent_run import Gap
from traced_loop.read.messages_log import messages_run
from traced_loop.testing import calls

from .stored_runs import played_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.models.scripted import Line
    from traced_loop.read.agent_run import AgentRun

AGAIN = [calls(("look", {"name": "a"}))] * 4


@tool(effect="read")
async def look(name: str) -> str:
    """Looks."""
    return f"{name} is here"


def recorder() -> Any:
    """A write that says each time what it did."""
    written: list[str] = []

    @tool(effect="write", repeatable=True)
    async def record(name: str) -> str:
        """Write."""
        written.append(name)
        return f"{written} are written, {['red', 'green', 'blue'][len(written) - 1]}"

    return record


def acts(found: list[Finding]) -> list[tuple[str | None, int | None, Severity]]:
    """Reaction, call and gravity."""
    return [(each.reaction, each.at_call, each.severity) for each in found if each.at_call is not None]


def live(run: AgentRun) -> list[str | None]:
    """What the checks of the run itself did, in its order."""
    spans = [span for span in run.trace.spans if names.REPETITION_VERDICT in span.attributes]
    return [span.text(names.REPETITION_VERDICT) for span in sorted(spans, key=lambda span: span.start_ns)]


@pytest.mark.parametrize(
    ("reaction", "reactions"),
    [("stop", ["nudge", "stop"]), ("nudge", ["nudge", "nudge"]), ("observe", ["observe", "observe"])],
)
def test_what_a_run_did_again_and_again_is_found_as_it_was_live(
    reaction: RepetitionReaction, reactions: list[str]
) -> None:
    """With the call that completed it and what the run's own rules did; how grave it is does not hang on them."""
    run = played_run([*AGAIN, *(["done"] if reaction != "stop" else [])], [look], repetition=reaction)

    found = [each for each in repeated(run) if each.reaction != "observe" or reaction == "observe"]

    assert [each.reaction for each in found] == reactions == live(run)
    assert acts(found) == [(reactions[0], 2, Severity.WASTE), (reactions[1], 3, Severity.ERROR)]
    assert {each.kind for each in found} == {FindingKind.REPETITION}


def test_every_reaction_is_tried() -> None:
    """The table above has all of the closed list."""
    assert set(get_args(RepetitionReaction)) == {"stop", "nudge", "observe"}


def test_a_finding_names_the_call_that_completed_it_and_the_first() -> None:
    """Spans and flat indexes, the number of occurrences, and what would prevent it where it is grave enough to stop."""
    run = played_run(AGAIN, [look])

    nudge, stop = repeated(run)

    assert stop.evidence == (run.calls[3].spans[-1][1], run.calls[0].spans[-1][1])
    assert stop.calls == (0, 3)
    assert stop.numbers == {"occurrences": 4}
    assert (nudge.prevent, stop.prevent) == ("", "")
    assert "look" in stop.title
    assert stop.untold == ()


def test_what_was_not_stopped_says_what_stops_it() -> None:
    """A run that was says with its stop why it was."""
    observed = played_run([*AGAIN, "done"], [look], repetition="observe")

    assert [each.prevent[:25] for each in repeated(observed)] == ["", "Loop(repetition='stop') e"]


def test_the_same_calls_in_a_log_of_messages_are_the_same_findings() -> None:
    """Without spans the calls' places are all the evidence there is."""
    history: list[dict[str, object]] = [{"role": "user", "content": "Go."}]
    for n in range(4):
        wanted = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": '{"name": "a"}'}}
        history.append({"role": "assistant", "content": None, "tool_calls": [wanted]})
        history.append({"role": "tool", "tool_call_id": f"c{n}", "content": "a is here"})

    found = list(repeated(messages_run(history, "run-1")))

    assert acts(found) == acts(list(repeated(played_run(AGAIN, [look]))))
    assert [each.evidence for each in found] == [(), ()]


def test_what_cannot_be_told_is_said_with_it() -> None:
    """A log in which no tool answers cannot show whether something new came."""
    history: list[dict[str, object]] = []
    for n in range(4):
        wanted = {"id": f"c{n}", "type": "function", "function": {"name": "send_mail", "arguments": "{}"}}
        history.append({"role": "assistant", "content": None, "tool_calls": [wanted]})

    run = messages_run(history, "run-1")

    assert Gap.NO_RESULTS in run.gaps
    assert all(each.untold == (Gap.NO_RESULTS,) for each in repeated(run))


@pytest.mark.parametrize(
    ("script", "tools"),
    [
        (["42"], ()),
        ([*(calls(("look", {"name": name})) for name in "abcd"), "done"], (look,)),
        ([*[calls(("record", {"name": "a"}))] * 3, "done"], (recorder(),)),
    ],
    ids=["an answer at once", "other arguments each time", "a write that is its own each time"],
)
def test_a_run_that_repeats_nothing_has_no_such_finding(script: Sequence[Line], tools: Sequence[Any]) -> None:
    """However many calls it makes."""
    run = played_run(script, tools, policy=Policy(confirm=lambda _: True))

    assert [each for each in repeated(run) if each.reaction != "observe"] == []
