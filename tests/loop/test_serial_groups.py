"""Tools of one serial group never run at the same time, whoever waits for them or does not any more."""

import asyncio
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from traced_loop import Budget, Loop, Policy, ScriptedModel, StopReason, tool
from traced_loop.events import BudgetChecked
from traced_loop.loop.bounded_wait import leave_behind
from traced_loop.loop.running_work import RunningWork
from traced_loop.loop.serial_groups import SerialGroups
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring, play


def test_a_group_is_taken_in_the_order_of_asking() -> None:
    """First come, first served."""

    async def run() -> list[int]:
        groups, order = SerialGroups(), list[int]()
        first = await groups.enter("db", 1)
        assert first is not None

        async def wait(n: int) -> None:
            turn = await groups.enter("db", 5)
            assert turn is not None
            with turn:
                order.append(n)

        waiting = [asyncio.create_task(wait(n)) for n in range(3)]
        await asyncio.sleep(0)
        with first:
            pass
        await asyncio.gather(*waiting)
        return order

    assert asyncio.run(run()) == [0, 1, 2]


def test_a_group_that_is_not_free_in_time_is_not_entered() -> None:
    """Whoever gave up is not in the way of the next."""

    async def run() -> None:
        groups = SerialGroups()
        first = await groups.enter("db", 1)
        assert first is not None
        assert await groups.enter("db", 0) is None
        with first:
            pass
        assert await groups.enter("db", 0) is not None

    asyncio.run(run())


def test_a_waiter_that_is_cancelled_passes_its_turn_on() -> None:
    """Also when the group was granted to it in the same moment."""

    async def run() -> bool:
        groups = SerialGroups()
        first = await groups.enter("db", 1)
        waiter = asyncio.create_task(groups.enter("db", 5))
        await asyncio.sleep(0)
        assert first is not None
        with first:
            pass  # granted
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return await groups.enter("db", 0) is not None

    assert asyncio.run(run())


def test_a_group_goes_from_one_event_loop_to_another() -> None:
    """Runs of one loop in several threads share its groups."""
    groups, entered = SerialGroups(), threading.Event()

    async def wait() -> None:
        turn = await groups.enter("db", 10)
        assert turn is not None
        with turn:
            entered.set()

    async def run() -> bool:
        first = await groups.enter("db", 1)
        assert first is not None
        with first:
            thread = threading.Thread(target=lambda: asyncio.run(wait()))
            thread.start()
            before = entered.is_set()
        await asyncio.to_thread(thread.join, 10)
        return before

    assert (asyncio.run(run()), entered.is_set()) == (False, True)


def test_a_waiter_whose_event_loop_is_gone_is_passed_over() -> None:
    """It cannot be told, and nobody waits for it."""
    groups = SerialGroups()

    async def give_up() -> None:
        waiting = asyncio.ensure_future(groups.enter("db", 10))
        await asyncio.sleep(0)
        leave_behind(waiting)

    first = asyncio.run(groups.enter("db", 1))
    loop = asyncio.new_event_loop()
    loop.run_until_complete(give_up())
    loop.close()
    assert first is not None
    with first:
        pass

    assert asyncio.run(groups.enter("db", 0)) is not None


def test_work_that_goes_on_keeps_its_group() -> None:
    """Until it is over, not until nobody waits for it."""

    async def run() -> tuple[bool, bool]:
        groups, work = SerialGroups(), RunningWork()
        work.begin()
        turn = await groups.enter("db", 1)
        assert turn is not None
        with turn:
            turn.keep(work)
        before = await groups.enter("db", 0)
        work.end(None)
        after = await groups.enter("db", 0)
        return before is not None, after is not None

    assert asyncio.run(run()) == (False, True)


class Database:
    """Two tools of one group; the first query hangs until it is let go."""

    def __init__(self, **options: Any) -> None:
        self.end = threading.Event()
        self.ran: list[str] = []
        self.at_once = 0

        @tool(effect="read", serial_group="db", timeout=0.05)
        def query(name: str) -> str:
            """Query."""
            self.ran.append(name)
            if name == "hangs":
                self.end.wait(20)
            return name

        @tool(effect="write", serial_group="db", **options)
        def insert(name: str) -> str:
            """Insert."""
            self.ran.append(name)
            return name

        self.tools = [query, insert]


def test_a_call_is_refused_while_an_abandoned_one_of_its_group_runs() -> None:
    """It waits as long as it may take itself; then it is told what is in its way, and nothing has run."""
    db = Database()
    script = [calls(("query", {"name": "hangs"})), calls(("query", {"name": "next"})), "done"]
    played = play(script, db.tools, on_timeout="report")
    db.end.set()

    assert (db.ran, played.result.answer) == (["hangs"], "done")
    assert played.spans.outcomes() == {"call_1": [Outcome.TIMED_OUT], "call_2": [Outcome.TIMED_OUT]}
    assert "another tool of the serial group db still runs" in played.result.messages[4]["content"]
    assert (played.result.usage.tool_calls, pairing_problems(played.result.messages)) == (1, [])


def test_a_call_that_is_not_run_for_its_group_stops_the_run_as_a_timeout_does() -> None:
    """Unless timeouts are reported; a write that never began is not unknown."""
    db, spans = Database(timeout=0.05), Spans()
    policy = Policy(confirm=lambda _: True)
    script = [calls(("query", {"name": "hangs"})), calls(("insert", {"name": "x"}))]
    loop = Loop(ScriptedModel(script), db.tools, policy=policy, wiring=counted_wiring(spans))
    first, second = loop.run("Go."), loop.run("Go on.")
    db.end.set()

    assert [run.stop_reason for run in (first, second)] == [StopReason.TOOL_TIMEOUT] * 2
    assert (db.ran, second.usage.tool_calls) == (["hangs"], 0)
    refused = spans.named("traced_loop.authorize_call")[-1]
    assert refused.attributes["traced_loop.call.outcome"] == "timed_out"
    assert refused.attributes["traced_loop.run.stop_reason"] == "tool_timeout"


def test_a_call_runs_once_the_abandoned_one_of_its_group_has_ended() -> None:
    """It waits for that; what it waited is time in the queue."""
    db = Database(timeout=20)

    def when_it_may_end(request: Any) -> Any:
        del request
        db.end.set()
        return calls(("insert", {"name": "x"}))

    script = [calls(("query", {"name": "hangs"})), when_it_may_end, "done"]
    played = play(script, db.tools, policy=Policy(confirm=lambda _: True), on_timeout="report")

    assert (played.result.answer, db.ran) == ("done", ["hangs", "x"])
    assert played.spans.outcomes()["call_2"] == [Outcome.OK]


def test_two_runs_of_a_loop_share_its_groups() -> None:
    """What never runs at the same time does not do so in two runs either."""
    order, second_asked = list[str](), threading.Event()

    @tool(effect="read", serial_group="db", timeout=20)
    def query(name: str) -> None:
        """Query."""
        order.append(f"{name} begins")
        if name == "first":
            second.start()
            second_asked.wait(60)
        order.append(f"{name} ends")

    def run(name: str, asked: threading.Event) -> None:
        def told(event: Any) -> None:
            if isinstance(event, BudgetChecked) and event.phase == "batch":
                asked.set()

        loop.run(name, on_event=told)

    def line(request: Any) -> Any:
        return calls(("query", {"name": request.messages[-1]["content"]}))

    loop = Loop(ScriptedModel([line] * 2), [query], budget=Budget(steps=1), store=None)
    second = threading.Thread(target=run, args=("second", second_asked))
    run("first", threading.Event())
    second.join(60)

    assert order == ["first begins", "first ends", "second begins", "second ends"]


_FORKING = """
import asyncio, os
from traced_loop.loop.serial_groups import SerialGroups

async def enter(groups, seconds):
    return await groups.enter("db", seconds)

groups = SerialGroups()
before = asyncio.run(enter(groups, 1))
pid = os.fork()
own = asyncio.run(enter(groups, 0))
if pid == 0:
    before.__exit__(None, None, None)  # of the parent's: it frees nothing here
    os._exit(own is None or asyncio.run(enter(groups, 0)) is not None)
print(os.waitpid(pid, 0)[1], own is None)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that fork")
def test_a_forked_child_begins_with_free_groups() -> None:
    """What runs in them runs in the parent; there it keeps its group."""
    done = subprocess.run([sys.executable, "-c", _FORKING], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("0 True\n", 0), done.stderr
