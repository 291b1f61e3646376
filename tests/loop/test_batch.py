"""The calls of one response, from proposal to answer."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from traced_loop import Budget, Loop, Policy, ScriptedModel, StopReason, partial_result, tool
from traced_loop.events import CallFinished, Event
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedClock, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

APPROVED = Policy(confirm=lambda pending: True)


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool(effect="read")
def boom() -> None:
    """Fail without a word."""
    raise RuntimeError("")


@tool(effect="read")
async def look(name: str) -> str:
    """Look something up."""
    return f"about {name}"


def test_one_failed_call_neither_hides_nor_stops_its_siblings() -> None:
    """Each call of a mixed batch ends on its own, and the run goes on."""
    batch = calls(
        ("multiply", {"a": 6, "b": 7}),
        ("functions.multiply", {"a": 6, "b": 7}),
        ("boom", {}),
        ("multiply", {"a": 6}),
        ("multiply", {"a": 2, "b": 2}),
    )

    played = play([batch, "done"], [multiply, boom])

    assert played.result.answer == "done"
    assert [outcome for _, (outcome,) in sorted(played.spans.outcomes().items())] == [
        Outcome.OK,
        Outcome.UNKNOWN_TOOL,
        Outcome.ERROR,
        Outcome.INVALID,
        Outcome.OK,
    ]
    assert [m["content"] for m in played.result.messages[2:7:4]] == [
        '{"status":"completed","result":42}',
        '{"status":"completed","result":4}',
    ]


@pytest.mark.parametrize(
    ("batches", "run", "stop"),
    [
        pytest.param([8], 0, StopReason.TOOL_BUDGET_EXCEEDED, id="more_than_allowed_at_once"),
        pytest.param([4, 3], 4, StopReason.TOOL_BUDGET_EXCEEDED, id="the_second_batch_whole"),
        pytest.param([6], 6, StopReason.FINAL_ANSWER, id="exactly_as_many"),
    ],
)
def test_a_batch_over_the_limit_runs_none_of_its_calls(batches: list[int], run: int, stop: StopReason) -> None:
    """The limit is admitted before the batch, and every refused id is answered."""
    script: list[Any] = [calls(*[("look", {"name": str(n)}) for n in range(size)]) for size in batches]
    if stop is StopReason.FINAL_ANSWER:
        script.append("done")

    result = play(script, [look], budget=Budget(tool_calls=6)).result

    assert (result.usage.tool_calls, result.stop_reason) == (run, stop)
    assert pairing_problems(result.messages) == []


def test_refused_calls_do_not_count() -> None:
    """Only what would run is admitted, and only what ran is counted."""
    batch = calls(("look", {"name": "a"}), ("nothing", {}), ("look", {}), ("look", {"name": "b"}))

    result = play([batch, "done"], [look], budget=Budget(tool_calls=2)).result

    assert (result.stop_reason, result.usage.tool_calls) == (StopReason.FINAL_ANSWER, 2)


def test_reads_run_together() -> None:
    """Each of two reads waits for the other: alone neither would end."""
    both = threading.Barrier(2)

    @tool(effect="read", timeout=5)
    def meet() -> int:
        """Meet."""
        return both.wait()

    played = play([calls(("meet", {}), ("meet", {})), "done"], [meet])

    modes = {s.attributes["traced_loop.schedule.mode"] for s in played.spans.named("execute_tool")}
    assert (played.result.answer, modes) == ("done", {"parallel"})


def test_a_write_waits_for_the_reads_before_it_and_holds_those_after_it() -> None:
    """Model order is kept around a write."""
    order: list[str] = []

    @tool(effect="read")
    async def read(name: str) -> None:
        """Read."""
        order.append(f"{name} begins")
        await asyncio.sleep(0)
        order.append(f"{name} ends")

    @tool(effect="write")
    async def write() -> None:
        """Write."""
        order.append("write")

    batch = calls(("read", {"name": "a"}), ("read", {"name": "b"}), ("write", {}), ("read", {"name": "c"}))
    play([batch, "done"], [read, write], policy=APPROVED)

    assert order == ["a begins", "b begins", "a ends", "b ends", "write", "c begins", "c ends"]


def test_a_write_that_may_take_longer_than_the_run_has_left_is_not_started() -> None:
    """Its outcome could not be known, so it is refused as the deadline's business, on the span of the call."""
    clock, written = CountedClock(), list[int]()

    @tool(effect="read")
    def wait() -> None:
        """Wait."""
        clock.advance(55)

    @tool(effect="write", timeout=10)
    def write() -> None:
        """Write."""
        written.append(1)

    played = play(
        [calls(("wait", {}), ("write", {}))], [wait, write], clock=clock, policy=APPROVED, budget=Budget(seconds=60)
    )

    assert (played.result.stop_reason, written) == (StopReason.DEADLINE_EXCEEDED, [])
    assert played.spans.outcomes()["call_2"] == [Outcome.SKIPPED_BUDGET]
    assert sum("traced_loop.run.stop_reason" in s.attributes for s in played.spans.ended_spans) == 2


def test_nothing_runs_after_an_unknown_outcome() -> None:
    """The writes behind it are skipped; they are not even confirmed."""
    asked: list[str] = []

    @tool(effect="write")
    def write(name: str) -> None:
        """Write."""
        raise ConnectionError(name)

    def ask(pending: Any) -> bool:
        asked.append(pending.arguments["name"])
        return True

    batch = calls(("write", {"name": "a"}), ("write", {"name": "b"}))
    played = play([batch], [write], policy=Policy(confirm=ask))

    assert asked == ["a"]
    assert played.spans.outcomes() == {"call_1": [Outcome.UNKNOWN], "call_2": [Outcome.SKIPPED_STOP]}


def test_cancelling_keeps_what_had_ended_and_answers_what_had_not() -> None:
    """The finished sibling keeps its result, the running one is said to be cancelled, the next one never began."""
    ended = asyncio.Event()

    @tool(effect="read")
    async def fast() -> str:
        """Be fast."""
        return "ok"

    @tool(effect="read")
    async def slow() -> None:
        """Be slow."""
        ended.set()
        await asyncio.Event().wait()

    left, spans = cancelled_at(ended, calls(("fast", {}), ("slow", {}), ("write", {})), [fast, slow, written])

    assert [spans.outcomes()[f"call_{n}"] for n in (1, 2, 3)] == [
        [Outcome.OK],
        [Outcome.CANCELLED],
        [Outcome.SKIPPED_STOP],
    ]
    assert [m["content"][:22] for m in left.messages[2:]] == [
        '{"status":"completed",',
        '{"status":"error","typ',
        '{"status":"error","typ',
    ]
    assert (left.stop_reason, left.usage.tool_calls, left.usage.failed_tool_calls) == (StopReason.CANCELLED, 2, 1)


async def cancelled_in_every_turn(task: "asyncio.Task[Any]") -> None:
    """As a cancel scope of anyio does, until the task has ended."""
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)


async def cancelled_twice(task: "asyncio.Task[Any]") -> None:
    """As an impatient caller does."""
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()


@pytest.mark.parametrize("cancel", [cancelled_in_every_turn, cancelled_twice])
@pytest.mark.parametrize("number", [1, 2], ids=["one_call", "two_together"])
def test_a_run_that_is_cancelled_again_while_it_ends_leaves_no_span_open(
    cancel: Callable[["asyncio.Task[Any]"], Any], number: int
) -> None:
    """Tools that clean up are waited for all the same: spans end innermost first, and every call is answered once."""
    cleaned: list[int] = []
    started, spans = asyncio.Event(), Spans()

    @tool(effect="read")
    async def slow(n: int) -> None:
        """Be slow, also to end."""
        try:
            if n == number:
                started.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            cleaned.append(n)

    async def run() -> None:
        batch = calls(*[("slow", {"n": n + 1}) for n in range(number)])
        loop = Loop(ScriptedModel([batch]), [slow], wiring=counted_wiring(spans))
        task = asyncio.create_task(loop.arun("Go."))
        await started.wait()
        await cancel(task)
        await task

    with pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(run())

    left = partial_result(cancelled.value)
    assert (len(cleaned), spans.open, left and pairing_problems(left.messages)) == (number, [], [])
    assert spans.outcomes() == {f"call_{n + 1}": [Outcome.CANCELLED] for n in range(number)}
    assert [span.name for span in spans.ended_spans[-2:]] == ["traced_loop.step", "invoke_agent agent"]


def test_a_cancelled_run_can_be_continued() -> None:
    """A strict provider takes its history with a new message of the user."""
    started = asyncio.Event()

    @tool(effect="read")
    async def slow() -> None:
        """Be slow."""
        started.set()
        await asyncio.Event().wait()

    left, _ = cancelled_at(started, calls(("slow", {})), [slow])

    assert play(["done"], [slow], "And now?", messages=left.messages).result.answer == "done"


@tool(effect="write", name="write")
async def written() -> None:
    """Write."""


def cancelled_at(event: asyncio.Event, batch: Any, tools: list[Tool]) -> tuple[Any, Spans]:
    """A run that is cancelled once the event is set, and its spans."""
    spans = Spans()

    async def run() -> None:
        loop = Loop(ScriptedModel([batch]), tools, policy=APPROVED, wiring=counted_wiring(spans))
        task = asyncio.create_task(loop.arun("Go."))
        await event.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(run())
    assert spans.open == []
    return partial_result(cancelled.value), spans


def at_call(number: int) -> Callable[[Event], None]:
    """A callback that raises at the n-th finished call."""
    seen: list[Event] = []

    def raising(event: Event) -> None:
        seen.extend([event] if isinstance(event, CallFinished) else [])
        if len(seen) == number:
            raise ZeroDivisionError

    return raising


@pytest.mark.parametrize("number", range(1, 6))
def test_a_callback_that_raises_leaves_every_call_with_one_outcome(number: int) -> None:
    """Wherever in a batch it happens: refused, denied, ran, or never begun, each call is answered once."""
    spans = Spans()
    batch = calls(("nothing", {}), ("look", {}), ("boom", {}), ("look", {"name": "a"}), ("look", {"name": "b"}))
    policy = Policy(allow={"look"}, on_deny="report")
    loop = Loop(
        ScriptedModel([batch]), [look, boom], policy=policy, on_event=at_call(number), wiring=counted_wiring(spans)
    )

    with pytest.raises(ZeroDivisionError) as raised:
        loop.run("Go.")

    left = partial_result(raised.value)
    assert left is not None
    assert [len(outcomes) for outcomes in spans.outcomes().values()] == [1] * 5
    assert (pairing_problems(left.messages), spans.open) == ([], [])
