"""A child that is forked while a thread imports can import the same."""

from pathlib import Path

import pytest

from .python_program import run_python

GATE = """
import threading
begun, goes_on = threading.Event(), threading.Event()
"""

SLOW_MODULE = """
import slow_gate
slow_gate.begun.set()
slow_gate.goes_on.wait(30)
"""

IMPORTING = """
import os, sys, threading
sys.path.insert(0, {folder!r})
import slow_gate
from traced_loop.fork_waits import forks_wait

def load():
    with {guard}:
        import slow_module

threading.Thread(target=load, daemon=True).start()
slow_gate.begun.wait(30)
threading.Timer(0.2, slow_gate.goes_on.set).start()
pid = os.fork()
if pid == 0:
    loaded = threading.Event()
    def load_too():
        import slow_module
        loaded.set()
    threading.Thread(target=load_too, daemon=True).start()
    os._exit(7 if loaded.wait({seconds}) else 8)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize(("guard", "seconds", "code"), [("forks_wait()", 30, "7"), ("threading.Lock()", 1, "8")])
def test_a_fork_waits_for_an_import_in_another_thread(tmp_path: Path, guard: str, seconds: int, code: str) -> None:
    """Without waiting, the child would find the module locked by a thread that it does not have."""
    (tmp_path / "slow_gate.py").write_text(GATE)
    (tmp_path / "slow_module.py").write_text(SLOW_MODULE)

    ended = run_python(IMPORTING.format(folder=str(tmp_path), guard=guard, seconds=seconds), tmp_path / "store")

    assert ended.out.strip() == code, ended.err


FORKING = """
import os, threading
from traced_loop.fork_waits import forks_wait
with forks_wait():
    pid = os.fork()  # what is imported starts a program
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
start = threading.Barrier(4)
def fork():
    start.wait(30)
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            with forks_wait():
                os._exit(0)
        os.waitpid(pid, 0)
threads = [threading.Thread(target=fork, daemon=True) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join(30) for thread in threads]
with forks_wait():
    print(sum(thread.is_alive() for thread in threads))
"""


def test_threads_that_fork_at_the_same_time_do_not_wait_for_one_another(tmp_path: Path) -> None:
    """Nor does one that forks while it imports, nor a child."""
    ended = run_python(FORKING, tmp_path / "store")

    assert ended.out.strip() == "0", ended.err
