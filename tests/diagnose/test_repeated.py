"""What the detector finds in a stored run becomes findings with their evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest

from traced_loop import Budget, Policy, names, tool
from traced_loop.closed_words import RepetitionReaction
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.repeated import repeated
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall
from traced_loop.read.messages_log import messages_run
from traced_loop.read.trace import StoredTrace
from traced_loop.testing import calls

from .stored_runs import played_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.models.scripted import Line

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
    ("reaction", "reactions", "prevent"),
    [
        ("stop", ["nudge", "stop"], ""),
        ("nudge", ["nudge", "nudge"], "the model was told and went on: Loop(repetition='stop') ends such a run"),
        (
            "observe",
            ["observe", "observe"],
            "nothing was done about it: Loop(repetition='stop') ends such a run, after it has told the model",
        ),
    ],
)
def test_what_a_run_did_again_and_again_is_found_once(
    reaction: RepetitionReaction, reactions: list[str], prevent: str
) -> None:
    """With the first call for which the run's own rules acted; the advice is by what they did, the gravity is not."""
    run = played_run([*AGAIN, *(["done"] if reaction != "stop" else [])], [look], repetition=reaction)

    [found] = repeated(run)

    assert live(run) == reactions
    assert acts([found]) == [(reactions[0], 2, Severity.ERROR)]
    assert (found.kind, found.prevent) == (FindingKind.REPETITION, prevent)


def test_all_occurrences_count_until_something_else_comes() -> None:
    """Also those after the last thing that was done about it, with the requests that asked for them."""
    script = [*[calls(("look", {"name": "a"}))] * 8, calls(("look", {"name": "b"})), *AGAIN[:3], "done"]
    run = played_run(script, [look], repetition="nudge", budget=Budget(steps=20))

    long, short = repeated(run)

    assert long.numbers == {"occurrences": 8, "requests": 7}
    assert (long.calls, long.at_call, long.severity) == ((0, 7), 2, Severity.ERROR)
    assert (short.numbers["occurrences"], short.severity) == (3, Severity.WASTE)
    assert "8 times" in long.title


def test_equal_calls_without_results_are_told_and_no_alarm() -> None:
    """Whether they brought something new cannot be told."""
    call = StoredCall(index=0, tool="search", identity="x")
    given = [replace(call, index=n, step=n + 1) for n in range(6)]
    run = AgentRun(id="r", dialect="gen_ai", trace=StoredTrace(), calls=given, gaps=frozenset({Gap.NO_RESULTS}))

    [found] = repeated(run)

    assert (found.reaction, found.severity, found.numbers["occurrences"]) == ("observe", Severity.NOTE, 6)
    assert "6 times with the same arguments" in found.title
    assert list(repeated(replace(run, calls=given[:2]))) == []


def test_every_reaction_is_tried() -> None:
    """The table above has all of the closed list."""
    assert set(get_args(RepetitionReaction)) == {"stop", "nudge", "observe"}


def test_a_finding_names_its_last_call_and_the_first() -> None:
    """Spans and flat indexes, and the number of occurrences."""
    run = played_run(AGAIN, [look])

    [found] = repeated(run)

    assert found.evidence == (run.calls[3].spans[-1][1], run.calls[0].spans[-1][1])
    assert found.calls == (0, 3)
    assert found.numbers == {"occurrences": 4, "requests": 3}
    assert "look" in found.title
    assert found.untold == ()


def test_the_same_calls_in_a_log_of_messages_are_the_same_findings() -> None:
    """Without spans the calls' places are all the evidence there is."""
    history: list[dict[str, object]] = [{"role": "user", "content": "Go."}]
    for n in range(4):
        wanted = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": '{"name": "a"}'}}
        history.append({"role": "assistant", "content": None, "tool_calls": [wanted]})
        history.append({"role": "tool", "tool_call_id": f"c{n}", "content": "a is here"})

    found = list(repeated(messages_run(history, "run-1")))

    assert acts(found) == acts(list(repeated(played_run(AGAIN, [look]))))
    assert [each.evidence for each in found] == [()]


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
