"""``Loop.run`` without an event loop of the caller's."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from traced_loop import Loop, ScriptedModel, tool
from traced_loop.background_loop import run_blocking
from traced_loop.testing import calls


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


INTERRUPTED = """
import sys, threading
from traced_loop import Loop, Policy, ScriptedModel, partial_result, tool
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import calls

@tool(effect="{effect}", timeout=60)
{define} wait() -> None:
    "Wait for ever."
    print("waiting", flush=True)
    {wait}

loop = Loop(ScriptedModel([calls(("wait", {{}}))]), [wait], policy=Policy(confirm=lambda _: True), store=None)
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_an_event_loop_of_its_own() -> None:
    """Threads do not cross a fork, so the child makes its own."""
    product().run("Go.")

    child = os.fork()
    if child == 0:
        os._exit(0 if product().run("Go.").answer == "42" else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
