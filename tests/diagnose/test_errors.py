"""What failed on the way is told tool by tool, with what to change."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Budget, NotApplied, Policy, ScriptedModel, ToolError, allow_when, names, tool
from traced_loop.diagnose.errors import errors
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.testing import calls

from .stored_runs import played_run
from .test_injected_faults import PRICE, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.read.agent_run import AgentRun


@tool(effect="read", max_result_bytes=300)
async def look(size: int = 2) -> str:
    """Gives so much; nothing is an error."""
    if not size:
        raise ToolError("nothing", transient=True)
    return "x" * size


@tool(effect="write")
async def pay() -> str:
    """Nobody knows."""
    raise ValueError("the line went dead")


@tool(effect="read", timeout=0.02)
async def hang() -> str:
    """Does not come back."""
    await asyncio.sleep(60)
    return "late"


def run_of(script: Sequence[Any], tools: Sequence[Any] = (look,), **options: Any) -> AgentRun:
    """A run of this script."""
    return played_run([], tools, model=ScriptedModel(script, price=PRICE), **options)


def only(run: AgentRun) -> Finding:
    """The one thing that is found."""
    [found] = errors(run)
    assert found.evidence
    assert set(found.evidence) <= {span.span_id for span in run.trace.spans}
    return found


FAIL = calls(("look", {"size": 0}))


def test_a_tool_that_fails_is_told_with_how_often_and_why() -> None:
    """Of a run that came to its answer it is waste; else an error."""
    good = only(run_of([FAIL, FAIL, calls(("look", {})), "done"]))
    bad = only(run_of([FAIL], budget=Budget(steps=1)))

    assert good.kind is FindingKind.FAILING_TOOL
    assert good.title == "look failed in 2 of 3 calls: error (tool_error), always with the same error"
    assert (good.severity, bad.severity) == (Severity.WASTE, Severity.ERROR)
    assert "retries=2" in good.prevent


@tool(effect="read")
async def stumble() -> str:
    """An error of the program's own."""
    raise ValueError("no such row")


@tool(effect="read")
async def refuse() -> str:
    """Says itself what it has to say."""
    raise ToolError("disk full")


@pytest.mark.parametrize(
    ("of", "prevent"), [(stumble, ": raise ToolError"), (refuse, "say in the ToolError of refuse")]
)
def test_a_tool_that_raises_our_error_already_is_not_told_to(of: Any, prevent: str) -> None:
    """What the model is to do instead is what matters."""
    assert prevent in only(run_of([calls((of.__name__, {})), calls((of.__name__, {})), "done"], [of])).prevent


@pytest.mark.parametrize(
    ("of", "word", "prevent"),
    [(pay, "nobody knows whether it was applied", "NotApplied"), (hang, "timed_out", "timeout=")],
)
def test_what_to_change_depends_on_how_it_failed(of: Any, word: str, prevent: str) -> None:
    """A write that may have happened is an error, whatever the run came to."""
    found = only(run_of([calls((of.__name__, {}))], [of], policy=Policy(confirm=lambda _: True)))

    assert word in found.title
    assert prevent in found.prevent
    assert found.severity is Severity.ERROR


def test_refused_calls_are_told_by_their_code() -> None:
    """One is a note, several are waste; a name that nobody knows is another thing than arguments."""
    one = only(run_of([calls(("look", {"size": "x"})), "done"]))
    several = only(run_of([calls(("look", {"size": "x"}), ("look", {"sizes": 1})), "done"]))
    unknown = only(run_of([calls(("search", {})), "done"]))

    assert (one.kind, one.severity, several.severity) == (
        FindingKind.INVALID_ARGUMENTS,
        Severity.NOTE,
        Severity.WASTE,
    )
    assert "wrong_type" in one.title
    assert "unexpected_field" in several.title
    assert "1 call named a tool that is not registered" in unknown.title


def test_a_cut_answer_is_told_whether_it_says_so_or_not() -> None:
    """Hidden truncation counts."""
    said = {"choices": [{"message": {"role": "assistant", "content": "The"}, "finish_reason": "length"}]}
    function = {"name": "look", "arguments": '{"size": 1'}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}
    hidden = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 64},
    }

    loud = only(run_of([said]))
    quiet = only(run_of([hidden], request={"max_tokens": 64}))

    assert (loud.kind, loud.numbers["hidden"]) == (FindingKind.TRUNCATION, 0)
    assert (quiet.kind, quiet.numbers["hidden"]) == (FindingKind.TRUNCATION, 1)
    assert "at 64 tokens; 1 of them without saying so" in quiet.title


def test_calls_that_were_not_permitted_name_the_rule() -> None:
    """Denied by a rule, or by a person."""
    denied = only(run_of([calls(("look", {})), "done"], policy=Policy(deny={"look"}, on_deny="report")))
    rejected = only(run_of([calls(("pay", {})), "done"], [pay], policy=Policy(confirm=lambda _: False)))

    assert "1 call of look was not permitted (deny_list)" in denied.title
    assert "a person said no to 1" in rejected.title
    assert (denied.kind, denied.severity) == (FindingKind.DENIED, Severity.NOTE)


def test_a_result_that_was_cut_is_lost_in_part() -> None:
    """With the bytes that the model was told."""
    found = only(run_of([calls(("look", {"size": 1_000})), "done"]))

    assert found.kind is FindingKind.LOST_RESULT
    assert found.numbers["result_bytes"] == 1_002
    assert "max_result_bytes" in found.prevent


def test_a_result_that_never_went_into_the_history_is_lost() -> None:
    """The append does not list it."""
    run = run_of([calls(("look", {}), ("look", {"size": 3})), "done"])

    def without(span: StoredSpan) -> StoredSpan:
        if span.name != names.APPEND_RESULTS:
            return span
        return replace(span, attributes={**span.attributes, names.CALL_IDS: "call_1"})

    found = only(our_run(build([without(span) for span in run.trace.spans])))

    assert "look (call_2) succeeded, and the result never went into the history" in found.title
    assert found.calls == (1,)


def test_a_result_for_which_the_next_request_has_no_room_was_never_seen() -> None:
    """The provider counted nearly the same input as before."""
    run = run_of(
        [answer(tools=["large"], tokens=(1_000, 10)), answer("There is no result.", tokens=(1_011, 10))], [large]
    )

    found = only(run)

    assert "the model never saw it" in found.title
    assert found.numbers["told_bytes"] == 4_034


@tool(effect="read")
async def large() -> str:
    """Gives four thousand characters."""
    return "x" * 4_000


def test_a_result_of_the_last_step_was_never_sent() -> None:
    """A limit ended the run before the model could see it: a last request would."""
    found = only(run_of([calls(("look", {}))], budget=Budget(steps=1)))

    assert (found.kind, found.severity) == (FindingKind.LOST_RESULT, Severity.NOTE)
    assert "last_request=True" in found.prevent


def test_a_last_request_is_advised_only_where_one_would_be_made() -> None:
    """Not after a stop that is no limit's, and not to who wrote another loop."""
    run = run_of([calls(("look", {}))], budget=Budget(steps=1))

    for other in (replace(run, stop_reason="tool_failed"), replace(run, dialect="gen_ai")):
        assert (only(other).kind, only(other).prevent) == (FindingKind.LOST_RESULT, "")


def test_a_tool_that_went_on_is_told() -> None:
    """A late write is an error: it came after the run had moved on."""
    run = run_of([calls(("look", {})), "done"])
    late = StoredSpan(
        trace_id=run.trace.spans[0].trace_id,
        span_id="00000000000000ff",
        parent_id=run.trace.spans[-1].span_id,
        name=names.LATE_COMPLETION,
        start_ns=run.end_ns,
        end_ns=run.end_ns + 1,
        attributes={
            names.RUN_ID: run.id,
            names.CALL_TOOL: "pay",
            names.EFFECT: "write",
            names.LATE_SECONDS: 12.5,
            names.LATE_OUTCOME: "ok",
        },
    )
    found = only(our_run(build([*run.trace.spans, late])))

    assert (found.kind, found.severity) == (FindingKind.LATE_END, Severity.ERROR)
    assert "pay went on for up to 12.5 s" in found.title


def test_a_run_in_which_nothing_failed_has_nothing_to_tell() -> None:
    """Calls that ran, and an answer."""
    assert errors(run_of([calls(("look", {})), "done"])) == []


def test_of_a_run_that_does_not_say_why_it_ended_the_last_answer_tells() -> None:
    """Other instrumentations have no stop reason."""
    run = run_of([FAIL, calls(("look", {})), "done"])
    silent = replace(run, stop_reason=None, dialect="gen_ai", calls=[replace(call, ran=None) for call in run.calls])

    assert only(silent).severity is Severity.WASTE
    assert "failed in 1 of 2 calls" in only(silent).title
    assert only(replace(silent, requests=run.requests[:1])).severity is Severity.ERROR


@tool(effect="read")
async def ask(place: str) -> dict[str, str]:
    """Tells an error instead of raising it, for one place."""
    return {"error": "no such place"} if place == "nowhere" else {"place": place}


def test_an_error_that_a_result_tells_of_is_a_failure_too() -> None:
    """The call was ok for the loop, and stays so; whoever asks why six steps were made is told."""
    asked = [calls(("ask", {"place": place})) for place in ("here", "nowhere")]
    run = run_of([*asked, answer("done")], [ask])

    found = only(run)

    assert [call.outcome for call in run.calls] == ["ok", "ok"]
    assert (found.kind, found.severity) == (FindingKind.FAILING_TOOL, Severity.WASTE)
    assert (found.title, found.calls) == ("ask failed in 1 of 2 calls: told as a result", (1,))


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (NotApplied("too late"), "hotel (call_1) was to be undone, and it stays done (error)"),
        (ValueError("gone"), "hotel (call_1) was to be undone, and nobody knows whether it is undone (unknown)"),
    ],
)
def test_a_write_that_could_not_be_undone_is_told(raised: Exception, said: str) -> None:
    """What a batch did is left half done; that is graver than the failure that it was to be undone for."""

    async def cancel(city: str) -> str:
        raise raised

    @tool(effect="write", compensate=cancel)
    async def hotel(city: str) -> str:
        """Book."""
        return city

    @tool(effect="write")
    async def card() -> str:
        """Fail, and change nothing."""
        raise NotApplied("declined")

    policy = Policy(rules=[allow_when(effect="write", name="writes")])
    script = [calls(("hotel", {"city": "Oslo"}), ("card", {})), *([answer("no")] if "late" in str(raised) else [])]
    run = run_of(script, [hotel, card], policy=policy, on_tool_error="compensate")

    [found] = [each for each in errors(run) if each.kind is FindingKind.NOT_UNDONE]

    assert (found.title, found.severity, found.calls) == (said, Severity.ERROR, (0,))
    [undo] = [s for s in run.trace.spans if names.COMPENSATION_OUTCOME in s.attributes]
    assert found.evidence == (undo.span_id,)
