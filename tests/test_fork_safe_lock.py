"""A lock that a forked child finds open."""

from pathlib import Path

import pytest

from .held_lock import forked_while_held
from .python_program import run_python

PROGRAMS = {
    "held by another thread": forked_while_held(
        "lock", setup="from traced_loop.fork_safe_lock import ForkSafeLock\nlock = ForkSafeLock()"
    ),
    "held by the thread that forks": """
import os
from traced_loop.fork_safe_lock import ForkSafeLock
lock = ForkSafeLock()
with lock:
    pid = os.fork()
if pid == 0:
    with lock:
        os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""",
    "threads that fork at the same time, with a store": """
import os, tempfile, threading
from traced_loop import Loop, ScriptedModel
store = tempfile.mkdtemp()
Loop(ScriptedModel(["done"]), store=store).run("Go.")
start = threading.Barrier(4)
def fork():
    start.wait(30)
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
threads = [threading.Thread(target=fork, daemon=True) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join(30) for thread in threads]
assert not any(thread.is_alive() for thread in threads)
result = Loop(ScriptedModel(["done"]), store=store).run("Go.")
print(7 if result.receipt.store_errors == 0 else result.receipt)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_nobody_waits_for_a_thread_that_is_not_there(tmp_path: Path, program: str) -> None:
    """Parent and child both go on, whoever held what when the process forked."""
    ended = run_python(program, tmp_path / "store")

    assert ended.out.strip() == "7", ended.err
