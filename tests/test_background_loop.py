"""``Loop.run`` without an event loop of the caller's."""

import asyncio
import contextvars
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from traced_loop import Loop, RunResult, ScriptedModel, StopReason, partial_result, tool
from traced_loop.background_loop import run_blocking
from traced_loop.events import CallFinished, Event
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def product() -> Loop:
    """A loop of its own, with one call of a synchronous tool."""
    return Loop(ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), "42"]), [multiply], store=None)


def test_a_thousand_runs_leave_no_thread() -> None:
    """Also where each has a loop of its own: threads are shared and used again."""
    product().run("Go.")
    before = threading.active_count()

    answers = {product().run("Go.").answer for _ in range(1_000)}

    assert answers == {"42"}
    assert threading.active_count() <= before + 1


def test_runs_of_many_threads_share_one_event_loop() -> None:
    """Connections can be reused, whoever calls."""

    async def here() -> int:
        return threading.get_ident()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: run_blocking(here()), range(100)))) == 1


def test_a_run_inside_a_running_event_loop_works() -> None:
    """As any synchronous call, it blocks that loop until it ends."""

    async def notebook() -> str | None:
        return product().run("Go.").answer

    assert asyncio.run(notebook()) == "42"


@pytest.mark.parametrize("sync", [True, False], ids=["sync_tool", "async_tool"])
def test_a_tool_may_run_a_loop(sync: bool) -> None:
    """Also from the thread that runs the outer loop, which could not wait for itself; and deeper."""

    def ask(depth: int) -> str:
        """Ask another agent."""
        inner = [calls(("ask", {"depth": depth - 1})), "deep"] if depth else ["deepest"]
        return str(Loop(ScriptedModel(inner), [asking], store=None).run("Go.").answer)

    async def ask_inside(depth: int) -> str:
        """Ask another agent."""
        return ask(depth)

    asking = tool(effect="read", name="ask")(ask) if sync else tool(effect="read", name="ask")(ask_inside)

    result = Loop(ScriptedModel([calls(("ask", {"depth": 2})), "done"]), [asking], store=None).run("Go.")

    assert result.messages[2]["content"] == '{"status":"completed","result":"deep"}'


def test_the_callers_context_goes_with_the_work_and_comes_back_unchanged() -> None:
    """What the work sets stays with it."""
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("caller's")

    async def work() -> str:
        seen = variable.get()
        variable.set("work's")
        return seen

    assert (run_blocking(work()), variable.get()) == ("caller's", "caller's")


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_whatever_the_work_raises_is_raised_here_and_the_event_loop_lives_on(error: BaseException) -> None:
    """The same exception, and the next run works."""

    async def work() -> None:
        raise error

    async def fine() -> int:
        return 42

    with pytest.raises(type(error)) as raised:
        run_blocking(work())

    assert raised.value is error
    assert run_blocking(fine()) == 42


def in_time(act: Callable[[], object]) -> object:
    """What an act gave or raised; fails where it hangs."""
    ended: queue.SimpleQueue[object] = queue.SimpleQueue()

    def run() -> None:
        try:
            ended.put(act())
        except BaseException as error:  # noqa: BLE001 - handed to the test
            ended.put(error)

    threading.Thread(target=run, daemon=True).start()
    return ended.get(timeout=60)


def ended_in_time(loop: Loop) -> object:
    """What a run gave or raised; fails where it hangs."""
    return in_time(lambda: loop.run("Go."))


class Unspeakable(Exception):
    """An error that ends the process when it is asked what it is."""

    def __str__(self) -> str:
        raise SystemExit(3)


def leave() -> None:
    """Leave."""
    raise SystemExit(3)


def complain() -> None:
    """Complain."""
    raise Unspeakable


def leave_at_the_first_result(event: Event) -> None:
    """A callback."""
    if isinstance(event, CallFinished):
        leave()


@pytest.mark.parametrize(
    ("script", "options"),
    [
        pytest.param([SystemExit(3)], {}, id="the_model"),
        pytest.param([calls(("leave", {}), ("multiply", {"a": 6, "b": 7}))], {}, id="a_tool_among_others"),
        pytest.param(
            [calls(("multiply", {"a": 6, "b": 7}), ("multiply", {"a": 6, "b": 7}))],
            {"on_event": leave_at_the_first_result},
            id="a_callback",
        ),
        pytest.param([calls(("complain", {}), ("complain", {}))], {}, id="the_text_of_an_error"),
    ],
)
def test_an_exit_anywhere_in_a_run_leaves_it_and_the_event_loop_lives_on(script: Any, options: Any) -> None:
    """It is raised where the run was started, with everything answered; the next run works."""
    spans = Spans()
    tools: list[Tool] = [multiply, tool(effect="read")(leave), tool(effect="read")(complain)]
    loop = Loop(ScriptedModel(script), tools, wiring=counted_wiring(spans), **options)

    left = ended_in_time(loop)

    assert isinstance(left, SystemExit)
    reached = partial_result(left)
    assert reached is not None
    assert (reached.stop_reason, spans.open) == (StopReason.CANCELLED, [])
    assert pairing_problems(reached.messages) == []
    assert all(len(outcomes) == 1 for outcomes in spans.outcomes().values())
    assert isinstance(ended_in_time(product()), RunResult)


def test_an_interrupt_that_the_model_raises_leaves_the_run() -> None:
    """As an exit does."""
    left = ended_in_time(Loop(ScriptedModel([KeyboardInterrupt()]), store=None))

    assert isinstance(left, KeyboardInterrupt)
    assert isinstance(ended_in_time(product()), RunResult)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda: asyncio.get_running_loop().stop(), id="stop"),
        pytest.param(lambda: asyncio.get_running_loop().call_soon(sys.exit, 3), id="exit_in_a_callback"),
    ],
)
def test_a_tool_cannot_end_the_event_loop_that_all_runs_share(end: Callable[[], object]) -> None:
    """Its own run goes on, and so does the next."""

    @tool(effect="read")
    async def vandal() -> str:
        """End what is not its own."""
        end()
        await asyncio.sleep(0)
        return "done"

    own = ended_in_time(Loop(ScriptedModel([calls(("vandal", {})), "42"]), [vandal], store=None))

    assert isinstance(own, RunResult)
    assert own.answer == "42"
    assert isinstance(ended_in_time(product()), RunResult)


def test_work_whose_event_loop_is_closed_fails_and_the_next_gets_a_new_one() -> None:
    """Nothing ever ends on a closed event loop, so nobody waits for it."""

    async def vandal() -> None:
        loop = asyncio.get_running_loop()
        vars(loop)["run_forever"] = loop.close  # as another thread may, between a stop and the restart
        loop.stop()
        await asyncio.Event().wait()

    assert isinstance(in_time(lambda: run_blocking(vandal())), RuntimeError)
    assert isinstance(ended_in_time(product()), RunResult)


INTERRUPTED = """
import os, sys, threading
from traced_loop import Loop, Policy, ScriptedModel, partial_result, tool
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import calls

@tool(effect="{effect}", timeout=60)
{define} wait() -> None:
    "Wait for ever."
    os.write(1, b"waiting\\n")  # print may still hold the lock of stdout when the process ends
    {wait}

loop = Loop(ScriptedModel([calls(("wait", {{}}))]), [wait], policy=Policy(confirm=lambda _: True), store=None,
    ledger="memory")
try:
    loop.run("Go.")
except KeyboardInterrupt as interrupt:
    left = partial_result(interrupt)
    print(left.stop_reason, pairing_problems(left.messages), left.messages[-1]["content"])
"""


@pytest.mark.parametrize(("effect", "outcome"), [("read", "cancelled"), ("write", "unknown")])
@pytest.mark.parametrize(
    ("define", "wait"),
    [("def", "threading.Event().wait()"), ("async def", "import asyncio; await asyncio.Event().wait()")],
    ids=["sync_tool", "async_tool"],
)
def test_ctrl_c_ends_a_run_with_everything_answered(define: str, wait: str, effect: str, outcome: str) -> None:
    """The interrupt goes on with what the run had reached, and the process ends though the tool still hangs."""
    script = INTERRUPTED.format(define=define, wait=wait, effect=effect)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=20)

    assert said.startswith("cancelled [] ")
    assert f'"type":"{outcome}"' in said
    assert child.returncode == 0


ALARMED = """
import asyncio, os, signal
from traced_loop import Loop, ScriptedModel, partial_result, tool
from traced_loop.testing import calls

class TooLong(BaseException):
    "What a time limit raises."

def raise_too_long(*_):
    raise TooLong

signal.signal(signal.SIGTERM, raise_too_long)
began = []

@tool(effect="read", timeout=60)
async def wait() -> None:
    "Wait for ever; slow to clean up."
    began.append(1)
    os.kill(os.getpid(), signal.SIGTERM)
    try:
        await asyncio.Event().wait()
    finally:
        {cleanup}

loop = Loop(ScriptedModel([calls(("wait", {{}})), calls(("wait", {{}}))]), [wait], store=None)
try:
    loop.run("Go.")
except BaseException as error:
    left = partial_result(error)
    print(type(error).__name__, left and left.stop_reason, left and left.messages[-1]["content"][:40], len(began))
"""


@pytest.mark.parametrize(
    ("cleanup", "raised"),
    [("pass", "TooLong"), ("os.kill(os.getpid(), signal.SIGINT)", "KeyboardInterrupt")],
    ids=["any_exception", "a_second_one_meanwhile"],
)
def test_what_the_handler_of_a_signal_raises_ends_the_run(cleanup: str, raised: str) -> None:
    """No tool runs on in the background; the latest exception goes on, with what the run had reached."""
    script = ALARMED.format(cleanup=cleanup)

    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True)

    assert child.stdout == f'{raised} cancelled {{"status":"error","type":"cancelled","me 1\n'


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_an_event_loop_of_its_own() -> None:
    """Threads do not cross a fork, so the child makes its own."""
    product().run("Go.")

    child = os.fork()
    if child == 0:
        os._exit(0 if product().run("Go.").answer == "42" else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
