"""A call at its turn: what it waits for, what keeps it from running, and what its failure does to the run."""

import asyncio
import threading
from typing import Any

import pytest

from traced_loop import (
    Budget,
    InvalidArguments,
    Loop,
    NotApplied,
    Pending,
    Policy,
    ScriptedModel,
    StopReason,
    ToolError,
    UsageError,
    allow_when,
    partial_result,
    tool,
)
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedClock, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

WRITES = Policy(rules=[allow_when(effect="write")])


def ending_with(error: BaseException, *, effect: Any = "read", name: str = "fail") -> Tool:
    """A tool that raises."""

    @tool(effect=effect, name=name)
    async def fail() -> None:
        """Fail."""
        raise error

    return fail


@tool(effect="read")
async def look(name: str) -> str:
    """Look."""
    return name


@tool(effect="write")
def write(name: str) -> str:
    """Write."""
    return name


LOOK, WRITE, FAIL = ("look", {"name": "a"}), ("write", {"name": "a"}), ("fail", {})


def test_a_mixed_batch_is_answered_in_order_whatever_each_call_comes_to() -> None:
    """Good, unknown, failing, invalid, good again: one outcome each, and the run goes on."""
    batch = calls(LOOK, ("nothing", {}), WRITE, FAIL, ("look", {}), ("write", {"name": "b"}))
    played = play([batch, "done"], [look, write, ending_with(NotApplied("no"), effect="write")], policy=WRITES)

    assert [str(found[0]) for _, found in sorted(played.spans.outcomes().items())] == [
        "ok",
        "unknown_tool",
        "ok",
        "error",
        "invalid",
        "ok",
    ]
    assert [m["tool_call_id"] for m in played.result.messages[2:8]] == [f"call_{n}" for n in range(1, 7)]
    (append,) = played.spans.named("traced_loop.append_results")
    assert append.attributes["traced_loop.results.outcomes"] == "ok:3,error:1,invalid:1,unknown_tool:1"


def test_a_failed_call_that_stops_lets_its_group_end_and_skips_the_rest() -> None:
    """What runs beside it keeps its result; what comes after it never begins."""
    batch = calls(WRITE, FAIL, LOOK, ("write", {"name": "b"}))
    played = play([batch], [look, write, ending_with(ToolError("no"))], policy=WRITES, on_tool_error="stop")

    assert played.result.stop_reason is StopReason.TOOL_FAILED
    assert [str(found[0]) for _, found in sorted(played.spans.outcomes().items())] == [
        "ok",
        "error",
        "ok",
        "skipped_stop",
    ]
    assert "Not run: fail raised ToolError." in played.result.messages[-1]["content"]
    assert pairing_problems(played.result.messages) == []


@pytest.mark.parametrize(
    ("error", "effect", "stop"),
    [
        (NotApplied("no"), "write", StopReason.TOOL_FAILED),
        (OSError("no"), "write", StopReason.OUTCOME_UNKNOWN),
        (InvalidArguments("no"), "read", None),
        (SystemExit(1), "read", StopReason.CANCELLED),
    ],
    ids=["nothing_happened", "nobody_knows", "a_verdict", "an_exit"],
)
def test_which_ends_of_a_call_stop_a_run_for_it(error: BaseException, effect: str, stop: StopReason | None) -> None:
    """What is worse than a failure stays what it is, and a refusal of arguments is none."""
    spans = Spans()
    script = [calls(FAIL), *(["done"] if stop is None else [])]
    loop = Loop(
        ScriptedModel(script),
        [ending_with(error, effect=effect)],
        policy=WRITES,
        on_tool_error="stop",
        wiring=counted_wiring(spans),
    )
    try:
        result = loop.run("Go.")
    except SystemExit as left:
        result = partial_result(left) or result

    assert result.stop_reason is (stop or StopReason.FINAL_ANSWER)


def test_a_timeout_beside_a_failure_is_the_reason() -> None:
    """Of stops that are due together the order of stops decides."""
    end = threading.Event()

    @tool(effect="read", timeout=0.05)
    def hang() -> None:
        """Hang."""
        end.wait(20)

    played = play([calls(FAIL, ("hang", {}))], [ending_with(ToolError("no")), hang], on_tool_error="stop")
    end.set()

    assert played.result.stop_reason is StopReason.TOOL_TIMEOUT


def test_a_timeout_that_is_reported_is_no_failure_that_stops() -> None:
    """Timeouts have an option of their own."""
    end = threading.Event()

    @tool(effect="read", timeout=0.05)
    def hang() -> None:
        """Hang."""
        end.wait(20)

    played = play([calls(("hang", {})), "done"], [hang], on_tool_error="stop", on_timeout="report")
    end.set()

    assert played.result.answer == "done"


def test_another_word_for_what_an_error_does_is_refused() -> None:
    """At once, with the words that there are."""
    with pytest.raises(UsageError, match="'report' or 'stop' or 'compensate'"):
        Loop(ScriptedModel([]), on_tool_error="undo", store=None)  # type: ignore[arg-type]


def test_time_in_the_queue_is_without_waits_for_people() -> None:
    """These are measured apart, on the call that they were about and on those behind it."""
    clock = CountedClock()

    @tool(effect="write")
    def slow(name: str) -> None:
        """Write slowly."""
        clock.advance(10)

    def confirm(_: Any) -> bool:
        clock.advance(60)
        return True

    batch = calls(("slow", {"name": "a"}), ("slow", {"name": "b"}), LOOK)
    played = play([batch, "done"], [slow, look], policy=Policy(confirm=confirm), clock=clock)

    queued, waited = (
        [round(s.attributes[f"traced_loop.schedule.{name}_ms"], -3) for s in played.spans.named("execute_tool")]
        for name in ("queued", "waited")
    )
    assert (queued, waited) == ([0, 10_000, 20_000], [60_000, 120_000, 120_000])


def test_where_nobody_was_asked_no_wait_is_shown() -> None:
    """Absent, as what did not happen."""
    (span,) = play([calls(LOOK), "done"], [look]).spans.named("execute_tool")
    assert "traced_loop.schedule.waited_ms" not in span.attributes


def test_a_person_who_is_asked_when_the_run_is_cancelled_took_no_time_of_the_run() -> None:
    """The wait that was cut off is a wait all the same."""
    clock, asked, spans = CountedClock(), asyncio.Event(), Spans()

    async def confirm(_: Any) -> bool:
        clock.advance(600)
        asked.set()
        await asyncio.Event().wait()
        return True

    async def run() -> None:
        loop = Loop(
            ScriptedModel([calls(WRITE)]), [write], policy=Policy(confirm=confirm), wiring=counted_wiring(spans, clock)
        )
        task = asyncio.create_task(loop.arun("Go."))
        await asked.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(run())

    result = partial_result(cancelled.value)
    assert result is not None
    assert result.usage.waited_seconds >= 600
    assert result.usage.seconds < 1


def test_a_tool_off_the_list_of_one_run_is_denied_in_it() -> None:
    """It is registered, and the next run may use it."""
    spans = Spans()
    script = [calls(LOOK, WRITE), calls(LOOK, WRITE), "done"]
    loop = Loop(ScriptedModel(script), [look, write], policy=WRITES, wiring=counted_wiring(spans))
    narrow, wide = loop.run("Go.", allow_tools=["look"]), loop.run("Go.")

    assert (narrow.stop_reason, wide.answer) == (StopReason.TOOL_NOT_ALLOWED, "done")
    denied = spans.named("traced_loop.authorize_call")[1].attributes
    assert (denied["traced_loop.policy.rule"], denied["traced_loop.call.outcome"]) == ("allow_list", Outcome.DENIED)


def test_a_run_can_use_fewer_tools_and_never_more() -> None:
    """The policy's own list still holds."""
    policy = Policy(allow={"look"}, on_deny="report", rules=WRITES.rules)
    loop = Loop(ScriptedModel([calls(LOOK, WRITE), "done"]), [look, write], policy=policy, store=None, ledger="memory")
    result = loop.run("Go.", allow_tools={"write"})

    assert ['"type":"denied"' in m["content"] for m in result.messages if m["role"] == "tool"] == [True, True]


@pytest.mark.parametrize("given", ["look", ["lok"]])
def test_a_list_that_names_no_tool_is_refused(given: Any) -> None:
    """A misspelt name would deny what was meant to be allowed."""
    loop = Loop(ScriptedModel([]), [look], store=None)
    with pytest.raises(UsageError, match="allow_tools"):
        loop.run("Go.", allow_tools=given)


def test_a_write_that_was_replayed_counts_against_no_limit() -> None:
    """Two calls may run; what is answered with a stored result did not."""

    @tool(effect="write", key=lambda name: name)
    def save(name: str) -> None:
        """Save."""

    step = calls(("save", {"name": "a"}))
    played = play([step, step, "done"], [save], policy=WRITES, budget=Budget(tool_calls=2))

    assert (played.result.answer, played.result.usage.tool_calls) == ("done", 1)


def deciding(asked: list[str]) -> Policy:
    """A person who says yes to everything."""

    def yes(pending: Pending) -> bool:
        asked.append(pending.tool)
        return True

    return Policy(confirm=yes)


def test_nobody_is_asked_about_a_write_that_the_run_has_no_time_for() -> None:
    """A person's yes is not taken for what would be refused after it; the reason names the tool's own timeout."""
    asked: list[str] = []

    @tool(effect="write", timeout=30)
    def reserve() -> None:
        """Reserve."""

    played = play([calls(("reserve", {}))], [reserve], policy=deciding(asked), budget=Budget(seconds=20))

    assert (asked, played.result.stop_reason) == ([], StopReason.DEADLINE_EXCEEDED)
    assert played.result.stop_detail.startswith("reserve may take 30 s (its timeout=), and the run has ")


def test_nobody_is_asked_where_what_ran_before_took_the_time() -> None:
    """The time is what is left at the write's own turn."""
    clock, asked = CountedClock(), list[str]()

    @tool(effect="read")
    def slow() -> None:
        """Take long."""
        clock.advance(50)

    batch = calls(("slow", {}), WRITE)
    played = play(
        [batch], [slow, write], clock=clock, policy=deciding(asked), budget=Budget(seconds=60, tool_seconds=30)
    )

    assert (asked, played.result.stop_reason) == ([], StopReason.DEADLINE_EXCEEDED)
    assert played.spans.outcomes()["call_2"] == ["skipped_budget"]


@pytest.mark.parametrize("seconds", [0.5, 20, 59])
def test_a_write_without_a_timeout_runs_in_a_run_shorter_than_the_default(seconds: float) -> None:
    """It has half of the run's time at most, so that it can begin at all and its outcome can be known."""
    played = play([calls(WRITE), "done"], [write], policy=WRITES, budget=Budget(seconds=seconds))

    assert (played.result.answer, played.spans.outcomes()) == ("done", {"call_1": ["ok"]})
