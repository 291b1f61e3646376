"""Ctrl-C and SIGTERM end `run` alike; the library leaves signals to the application."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import ScriptedModel, tool
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import calls, play

from ..command_line import PROGRAM, WITHIN, traced_loop
from ..models.chat_server import ANSWER, Reply, chat_server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

SLOW = '''
import os, signal, threading
from traced_loop import tool

def send() -> None:
    """Send the signal to the whole process, as a shell does, or to the thread that this is called in."""
    sent = signal.Signals[os.environ["SENT"]]
    if os.environ["TO"] == "process":
        os.kill(os.getpid(), sent)
    else:
        signal.pthread_kill(threading.get_ident(), sent)

FIRST = threading.Lock()

@tool(effect="read")
def hangs() -> str:
    """Tell this process to end, the first of two, and hang."""
    if FIRST.acquire(blocking=False):
        send()
    threading.Event().wait(600)
    return "never"

@tool(effect="write")
async def writes() -> str:
    """The same, in the middle of a write."""
    import asyncio
    send()
    await asyncio.sleep(600)
    return "never"
'''


def asking(name: str) -> Reply:
    """An answer that wants this tool twice."""
    wanted = [{"id": f"call_{n}", "function": {"name": name, "arguments": "{}"}} for n in (1, 2)]
    message = {"role": "assistant", "content": None, "tool_calls": wanted}
    return Reply(body={**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})


@pytest.mark.parametrize(("sent", "to"), [("SIGINT", "process"), ("SIGTERM", "process"), ("SIGTERM", "thread")])
@pytest.mark.parametrize(
    ("name", "outcomes"), [("hangs", {"cancelled"}), ("writes", {"unknown", "skipped_stop"})], ids=["read", "write"]
)
def test_a_signal_while_tools_run_cancels_the_run(
    tmp_path: Path, sent: str, to: str, name: str, outcomes: set[str]
) -> None:
    """Exit code 130; each call has an outcome, a write that had begun an unknown one; no span stays open.

    Whichever thread the system hands the signal to: it may be any that runs.
    """
    (tmp_path / "slow_tools.py").write_text(SLOW)
    with chat_server(asking(name)) as server:
        ended = subprocess.run(
            [
                *(PROGRAM, "run", "Go.", "--base-url", server.base_url, "--model", "m"),
                *("--tools", f"slow_tools:{name}", "--approve", name),
            ],
            env={**os.environ, "SENT": sent, "TO": to},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN,
        )
    assert (ended.returncode, ended.stdout) == (130, ""), ended.stderr
    assert "Traceback" not in ended.stderr
    run_id = ended.stderr.splitlines()[-1].removeprefix("traced-loop show ")
    shown: dict[str, Any] = traced_loop("show", run_id, "--messages", "--json").json
    assert (shown["run"]["stop_reason"], shown["run"]["state"]) == ("cancelled", "ended")
    assert shown["run"]["stop_detail"] == f"{'Ctrl-C' if sent == 'SIGINT' else 'SIGTERM'} ended it"
    assert not any(span["open"] for span in shown["spans"])
    found = [span["attributes"].get("traced_loop.call.outcome") for span in shown["spans"]]
    assert {outcome for outcome in found if outcome} == outcomes
    assert pairing_problems(shown["messages"]) == []
    assert json.dumps(shown)


def test_the_library_installs_no_handler() -> None:
    """Before, during and after a run every signal is handled as the application wants."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    during: list[Any] = []

    @tool(effect="read")
    def look() -> None:
        """Look at the handlers."""
        during.append({number: signal.getsignal(number) for number in signal.valid_signals()})

    play([calls(("look", {})), "done"], [look], model=None)
    assert during == [before]
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before


def test_a_loop_runs_in_a_thread_where_handlers_cannot_be_set() -> None:
    """Python sets handlers in the main thread only; a run does not need it."""
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(play([], model=ScriptedModel(["done"])).result.answer), daemon=True
    )
    thread.start()
    thread.join(WITHIN)
    assert answers == ["done"]
