"""A child that is forked while a thread imports can import the same."""

from pathlib import Path

import pytest

from traced_loop import fork_waits

from .held_lock import forked_while_held
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
import os, signal, sys, threading
sys.path.insert(0, {folder!r})
import slow_gate
from traced_loop.fork_waits import forks_wait

def load():
    with {guard}:
        import slow_module

importing = threading.Thread(target=load, daemon=True)
importing.start()
slow_gate.begun.wait(30)
if {guarded}:
    os.register_at_fork(before=slow_gate.goes_on.set)  # the last one is the first to be called
pid = os.fork()
if pid == 0:
    slow_gate.goes_on.set()
    if not {guarded}:
        signal.alarm(1)  # else it would hang for ever
    import slow_module
    os._exit(7)
slow_gate.goes_on.set()
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize(("guard", "code"), [("forks_wait()", "7"), ("threading.Lock()", "-14")])
def test_a_fork_waits_for_an_import_in_another_thread(tmp_path: Path, guard: str, code: str) -> None:
    """Without waiting, the child would find the module locked by a thread that it does not have."""
    (tmp_path / "slow_gate.py").write_text(GATE)
    (tmp_path / "slow_module.py").write_text(SLOW_MODULE)

    program = IMPORTING.format(folder=str(tmp_path), guard=guard, guarded=code == "7")
    ended = run_python(program, tmp_path / "store")

    assert ended.out.strip() == code, ended.err


HANGING = forked_while_held(
    "fork_waits.forks_wait()", setup="from traced_loop import fork_waits\nfork_waits.MOST_SECONDS = 0.0"
)


def test_a_child_of_a_fork_that_waited_for_too_long_waits_for_nobody(tmp_path: Path) -> None:
    """The thread that it would wait for is its parent's."""
    ended = run_python(HANGING, tmp_path / "store")

    assert ended.out.strip() == "7", ended.err


def test_a_fork_that_had_begun_before_there_were_imports_has_nothing_to_give_back() -> None:
    """Hooks that are registered in the middle of it are called for its end alone."""
    assert fork_waits._Gate().go_on() is False


FORKING = """
import os, threading
from traced_loop.fork_waits import forks_wait
with forks_wait(), forks_wait():
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
