"""A live run that repeats itself is told so, then stopped; one that works is not."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from traced_loop import Budget, Policy, Poll, Repetition, RepetitionRules, StopReason, ToolError, deny_when, names, tool
from traced_loop.events import Event, RepetitionSeen
from traced_loop.rules.nudge import is_nudge
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedClock, Played, calls, play


@tool(effect="read")
def look(name: str) -> str:
    """Look."""
    return f"{name} is here"


@tool(effect="read")
def read(path: str) -> str:
    """Read."""
    raise ToolError("file too large")


@tool(effect="read")
def tell_error(path: str) -> str:
    """Read."""
    return "Error: file too large"


LOOK = calls(("look", {"name": "a"}))


def checks(played: Played) -> list[dict[str, Any]]:
    """What the checks after the steps say of repetitions, in short keys."""
    spans = [s for s in played.spans.named(names.CHECK_BUDGET) if s.attributes[names.BUDGET_PHASE] == "step"]
    prefix = "traced_loop.repetition."
    return [{k.removeprefix(prefix): v for k, v in s.attributes.items() if k.startswith(prefix)} for s in spans]


def test_the_third_equal_step_is_nudged_and_the_fourth_is_the_last() -> None:
    """The verdict stands on the check after the step, with its numbers and a link to the call that did it first."""
    played = play([LOOK] * 4, [look], "Where?")

    assert played.result.stop_reason is StopReason.REPETITION_DETECTED
    common = {"kind": "equal_steps", "tool": "look", "period": 1}
    assert checks(played) == [
        {},
        {"streak": 1},
        {**common, "verdict": "nudge", "count": 3, "threshold": 3, "streak": 2},
        {**common, "verdict": "stop", "count": 4, "threshold": 4, "streak": 3},
    ]
    first = played.spans.named("execute_tool")[0]
    found = [s for s in played.spans.named(names.CHECK_BUDGET) if names.REPETITION_VERDICT in s.attributes]
    assert [span.links for span in found] == [((first.trace_id, first.span_id),)] * 2
    assert found[-1].attributes[names.RUN_STOP_REASON] == "repetition_detected"
    print_of_call = first.attributes[names.ARGS_FINGERPRINT]
    assert played.result.stop_detail == f"look brought the same 4 times; the limit is 4 (call {print_of_call})"


def test_the_nudge_is_a_message_of_its_own_after_the_results() -> None:
    """With the user's role, known as the loop's own, without the call; the history stays one that a server takes."""
    played = play([LOOK] * 3 + ["Sorry."], [look], "Where?")

    messages = played.result.messages
    assert [m["role"] for m in messages[-4:]] == ["assistant", "tool", "user", "assistant"]
    assert [is_nudge(m) for m in messages] == [False] * 7 + [True, False]
    assert "look" not in messages[-2]["content"]
    assert pairing_problems(messages) == []
    assert played.model.requests[3].messages[-1] == messages[-2]
    appended = [span.attributes for span in played.spans.named(names.APPEND_RESULTS)]
    assert [a.get(names.NUDGED) for a in appended] == [None, None, True]
    assert [a[names.TRANSCRIPT_MESSAGES] for a in appended] == [3, 5, 8]
    assert played.result.stop_reason is StopReason.FINAL_ANSWER


def test_a_nudge_that_is_heeded_ends_the_matter() -> None:
    """Another look brings news, and the old call may be made again."""
    other = calls(("look", {"name": "b"}))
    played = play([LOOK, LOOK, LOOK, other, LOOK, "Here."], [look])
    assert played.result.stop_reason is StopReason.FINAL_ANSWER
    assert [found.reaction for found in played.result.repetitions] == ["nudge"]


def test_a_history_with_a_nudge_goes_on() -> None:
    """In a next run."""
    before = play([LOOK] * 4, [look], "Where?").result.messages
    assert play(["Here."], [look], "And now?", messages=list(before)).result.answer == "Here."


@pytest.mark.parametrize("failing", [read, tell_error])
def test_a_call_that_fails_alike_runs_three_times_at_most(failing: Any) -> None:
    """Raised or told, with fifty steps to go; spelling and ids do not matter, and the last call is answered."""
    name = "read" if failing is read else "tell_error"
    texts = ['{"path":"a"}', '{ "path" : "a" }', '{"path": "a"}']
    played = play([calls((name, text)) for text in texts], [failing], budget=Budget(steps=50))

    assert played.result.stop_reason is StopReason.REPETITION_DETECTED
    assert len(played.spans.named("execute_tool")) == 3
    assert played.result.stop_detail.startswith(f"{name} failed 3 times alike; the limit is 3 (call ")
    assert played.result.messages[-1]["role"] == "tool"
    assert pairing_problems(played.result.messages) == []


def test_refused_and_unknown_calls_count_as_errors() -> None:
    """They never run, and the model is told the same each time."""
    for again in (calls(("look", {"nam": "a"})), calls(("steal", {"a": 1}))):
        result = play([again] * 3, [look]).result
        assert (result.stop_reason, result.repetitions[-1].count) == (StopReason.REPETITION_DETECTED, 3)


def test_a_denied_call_counts_as_an_error_too() -> None:
    """Where the model is told of it instead of the run being stopped."""
    policy = Policy(rules=[deny_when(["look"])], on_deny="report")
    result = play([LOOK] * 3, [look], policy=policy).result
    assert (result.stop_reason, result.repetitions[-1].kind) == ("repetition_detected", "deterministic_error")


def status(answers: Sequence[str], **options: Any) -> Any:
    """A tool that answers so, one after the other."""
    left = iter(answers)

    @tool(effect="read", **options)
    def status(job: str) -> str:
        """Ask for a job's state."""
        return next(left)

    return status


ASK = calls(("status", {"job": "j"}))


def test_a_job_that_moves_on_is_no_repetition() -> None:
    """Eight equal calls with changing results."""
    answers = [f"running {n}0%" for n in range(1, 8)] + ["done"]
    played = play([ASK] * 8 + ["Done."], [status(answers)], budget=Budget(steps=9))
    assert (played.result.stop_reason, played.result.repetitions) == (StopReason.FINAL_ANSWER, ())


def test_building_again_after_an_edit_is_no_repetition() -> None:
    """Another call with an effect lies between."""
    left = iter(["fails", "fails", "ok"])

    @tool(effect="read")
    def edit(x: int) -> str:
        """Edit."""
        return ""

    @tool(effect="read")
    def build() -> str:
        """Build."""
        return next(left)

    script = [("build", {}), ("edit", {"x": 1}), ("build", {}), ("edit", {"x": 2}), ("build", {})]
    played = play([*(calls(each) for each in script), "Built."], [edit, build])
    assert (played.result.stop_reason, played.result.repetitions) == (StopReason.FINAL_ANSWER, ())


def test_a_job_that_stands_still_is_one_unless_it_is_declared_a_poll() -> None:
    """With the declaration only its own allowance counts, and it is told when that is over."""
    queued = ["queued"] * 8
    assert play([ASK] * 4, [status(queued)]).result.stop_reason is StopReason.REPETITION_DETECTED
    polled = play([ASK] * 8 + ["Still queued."], [status(queued, poll=True)], budget=Budget(steps=9))
    assert (polled.result.stop_reason, polled.result.repetitions) == (StopReason.FINAL_ANSWER, ())
    assert polled.spans.named("execute_tool")[0].attributes[names.POLL_UNCHANGED] == 20
    impatient = play([ASK] * 7, [status(queued, poll=Poll(unchanged=5))]).result
    assert [(found.kind, found.count) for found in impatient.repetitions] == [
        ("poll_exhausted", 6),
        ("poll_exhausted", 7),
    ]


def test_a_job_that_has_failed_is_not_waited_for() -> None:
    """Whatever is declared: its state will not change, and asking again is a repetition."""
    answers = ["queued", "queued", *['{"state": "failed"}'] * 4]
    played = play([ASK] * 6, [status(answers, poll=True)])
    assert [(found.step, found.kind) for found in played.result.repetitions] == [(5, "equal_steps"), (6, "equal_steps")]
    over = [span.attributes.get(names.POLL_OVER) for span in played.spans.named("execute_tool")]
    assert over == [None, None, True, True, True, True]


def test_thinking_is_neither_news_nor_a_repetition() -> None:
    """It hides no loop, and it is none."""

    @tool(effect="read", neutral=True)
    def think(thought: str) -> str:
        """Think."""
        return ""

    thought = calls(("think", {"thought": "hm"}))
    alone = play([thought] * 7 + ["So."], [think]).result
    assert (alone.stop_reason, alone.repetitions) == (StopReason.FINAL_ANSWER, ())
    between = play([LOOK, thought] * 3 + [LOOK], [think, look]).result
    assert between.stop_reason is StopReason.REPETITION_DETECTED


@pytest.mark.parametrize(("reaction", "nudges"), [("nudge", 2), ("observe", 0)])
def test_whoever_does_not_want_a_stop_gets_none(reaction: Any, nudges: int) -> None:
    """What would have been done is on the span."""
    played = play([LOOK] * 6 + ["Here."], [look], repetition=reaction)
    assert played.result.stop_reason is StopReason.FINAL_ANSWER
    assert sum(is_nudge(m) for m in played.result.messages) == nudges
    assert [check.get("verdict") for check in checks(played) if "count" in check] == [reaction] * 2
    assert [check.get("due", reaction) for check in checks(played) if "count" in check] == [
        "nudge",
        "stop",
    ]


def test_the_numbers_can_be_others() -> None:
    """And stand on the root, all of them in one text."""
    played = play([LOOK] * 2, [look], repetition=RepetitionRules(ok_nudge=None, ok_stop=2))
    assert played.result.stop_reason is StopReason.REPETITION_DETECTED
    text = played.spans.named("invoke_agent")[0].attributes[names.REPETITION_RULES]
    assert text.startswith("stop ok_nudge=- ok_stop=2 error_stop=3 ")


def test_on_event_is_told_and_the_result_holds_it() -> None:
    """Frozen values with the numbers and no content."""
    events: list[Event] = []
    result = play([LOOK] * 4, [look], on_event=events.append).result
    told = [event for event in events if isinstance(event, RepetitionSeen)]
    assert [(event.step, event.repetition) for event in told] == [
        (3, result.repetitions[0]),
        (4, result.repetitions[1]),
    ]
    assert all(isinstance(found, Repetition) for found in result.repetitions)
    assert "here" not in str(result.repetitions)


def test_a_limit_that_ranks_above_it_is_the_reason() -> None:
    """Both are due after the same step; the repetition is shown all the same."""
    clock = CountedClock()

    @tool(effect="read")
    def slow() -> str:
        """Take a quarter of the time."""
        clock.advance(30)
        return "same"

    played = play([calls(("slow", {}))] * 4, [slow], clock=clock, budget=Budget(seconds=100, tool_seconds=60))
    assert played.result.stop_reason is StopReason.DEADLINE_EXCEEDED
    assert checks(played)[-1]["verdict"] == "stop"


def test_the_limit_on_steps_ranks_below_it() -> None:
    """The check before the next request is never made."""
    played = play([LOOK] * 4, [look], budget=Budget(steps=4))
    assert played.result.stop_reason is StopReason.REPETITION_DETECTED


def test_nobody_is_nudged_who_is_not_asked_again() -> None:
    """A run that ends with this step, whatever for, sends nothing more."""

    @tool(effect="read", timeout=0.01)
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(30)
        return ""

    result = play([LOOK, LOOK, calls(("look", {"name": "a"}), ("hang", {}))], [look, hang]).result
    assert result.stop_reason is StopReason.TOOL_TIMEOUT
    assert not any(map(is_nudge, result.messages))
