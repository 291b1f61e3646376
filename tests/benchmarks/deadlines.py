"""How long after its deadline a run answers, and its process is gone, whatever hangs in it.

Run it as ``python tests/benchmarks/deadlines.py [ROUNDS]``. Each round is a program of its own: a run with a store and
a deadline of three seconds, and then the end of the program. The bars are for an idle machine and are not part of the
tests: 250 ms to the answer, 1 s to the end of the process and of all that it started. A tool that asks for a
``Cancellation`` and does not heed it has half a second more, as its documentation says.
"""

import asyncio
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop import Budget, Cancellation, Loop, OpenAIModel, ScriptedModel, tool
from traced_loop.events import Event, RunStarted
from traced_loop.records.process_identity import process_identity
from traced_loop.testing import calls

DEADLINE: Final = 3.0
ANSWER_BAR, END_BAR, UNHEEDED = 0.25, 1.0, 0.5
WITHIN: Final = 60.0


def note(*pids: int) -> None:
    """Say which processes a tool started."""
    Path("pids").write_text(" ".join(map(str, pids)))


@tool(effect="read")
def sync_hangs() -> None:
    """Hang."""
    threading.Event().wait()


@tool(effect="read")
async def async_hangs() -> None:
    """Hang, and end when cancelled."""
    await asyncio.Event().wait()


@tool(effect="read")
async def async_clings() -> None:
    """Hang, and swallow every cancellation."""
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


@tool(effect="read")
def does_not_heed(cancellation: Cancellation) -> None:
    """Ask to be told of the end, and hang all the same."""
    del cancellation
    threading.Event().wait()


@tool(effect="read")
def subprocess_hangs(cancellation: Cancellation) -> None:
    """Wait for a process with a child; both hang."""
    code = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    command = [sys.executable, "-c", f"{code}; print(p.pid, flush=True); p.wait()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        cancellation.ends(process)
        assert process.stdout is not None
        note(process.pid, int(process.stdout.readline()))


@tool(effect="read", isolate="process")
def isolated_holds_the_lock() -> None:
    """Hold the interpreter lock, with a child."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    note(os.getpid(), child.pid)
    while True:
        ctypes.PyDLL(None).usleep(999_999)


def silent(connection: socket.socket) -> None:
    """Say nothing."""
    del connection
    threading.Event().wait()


def dripping(connection: socket.socket) -> None:
    """An answer that begins at once, and of which a byte comes now and then: nothing is ever overdue."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{")
    while True:
        time.sleep(0.05)
        connection.sendall(b" ")


def serving(behave: Callable[[socket.socket], None]) -> str:
    """A server that takes every connection and behaves so; its base URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=behave, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


TOOLS = (sync_hangs, async_hangs, async_clings, does_not_heed, subprocess_hangs, isolated_holds_the_lock)
SERVERS = {"model_silent": silent, "model_dripping": dripping}
CASES: Final = {
    **dict.fromkeys(SERVERS, ANSWER_BAR),
    **dict.fromkeys((each.__name__ for each in TOOLS), ANSWER_BAR),
    "does_not_heed": ANSWER_BAR + UNHEEDED,
}


def hang(case: str, how: str) -> None:
    """The program of one round: a run to its deadline; prints when that was and when the answer came."""
    if case in SERVERS:
        model: Any = OpenAIModel("m", base_url=serving(SERVERS[case]), api_key="none")
    else:
        model = ScriptedModel([calls((case, {}))])
    loop = Loop(model, TOOLS, budget=Budget(seconds=DEADLINE))
    due: list[float] = []

    def told(event: Event) -> None:
        if isinstance(event, RunStarted):  # what is imported before it is not the run's time
            due.append(time.monotonic() + DEADLINE)

    result = loop.run("Go.", on_event=told) if how == "run" else asyncio.run(loop.arun("Go.", on_event=told))
    answered = time.monotonic()
    print(json.dumps([result.stop_reason, *due, answered]), flush=True)


def alive(folder: Path) -> int:
    """How many of the processes that a tool noted still run."""
    noted = folder / "pids"
    pids = [int(pid) for pid in noted.read_text().split()] if noted.exists() else []
    return sum(process_identity(pid) is not None for pid in pids)


def measured(case: str, how: str) -> tuple[float, float]:
    """Seconds after the deadline until the answer, and until everything is gone."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TRACED_LOOP_HOME": str(Path(folder) / "store")}
        command = [sys.executable, str(Path(__file__).resolve()), case, how]
        ended = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=WITHIN
        )
        reason, due, answered = json.loads(ended.stdout)
        assert reason == "deadline_exceeded", reason
        while alive(Path(folder)):
            time.sleep(0.002)
        return answered - due, time.monotonic() - due


def main(rounds: int) -> None:
    """Print the worst of each case; exit with 1 where one is over its bar."""
    say(f"{'what hangs':24} {'how':5} {'answer after':>22} {'all gone after':>22}")
    failed = False
    for case, bar in CASES.items():
        for how in ("run", "arun"):
            answers, ends = zip(*[measured(case, how) for _ in range(rounds)], strict=True)
            over = max(answers) > bar or max(ends) > END_BAR
            failed = failed or over
            say(f"{case:24} {how:5} {shown(answers, bar)} {shown(ends, END_BAR)}{'  OVER' if over else ''}")
    sys.exit(failed)


def shown(seconds: Sequence[float], bar: float) -> str:
    """The worst, and its bar."""
    return f"{max(seconds) * 1e3:5.0f} ms, bar {bar * 1e3:5.0f} ms"


def say(line: str) -> None:
    """Print at once."""
    print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        hang(*sys.argv[1:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
