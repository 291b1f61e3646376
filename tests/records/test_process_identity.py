"""A process is told from a later one of the same number; from another place nobody can see whether it runs."""

from __future__ import annotations

import os
import subprocess
import sys

from traced_loop.records.process_identity import claimant, is_alive, may_run, process_identity, same_boot, still_runs


def test_a_process_is_known_by_number_and_start() -> None:
    """A number that was given again is another process."""
    mine = process_identity()
    assert mine is not None
    assert mine.startswith(f"{os.getpid()}:")
    assert is_alive(mine)
    assert not is_alive(f"{os.getpid()}:1")
    assert not is_alive("")


def test_a_process_that_ended_is_not_alive() -> None:
    """Neither as a zombie nor afterwards."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = process_identity(child.pid)
        assert identity is not None
        alive = is_alive(identity)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert (alive, is_alive(identity)) == (True, False)
    assert process_identity(child.pid) is None


def test_a_claimant_of_this_place_is_seen_to_run_or_to_be_gone() -> None:
    """As its process is."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        other = claimant().replace(str(process_identity()), str(process_identity(child.pid)))
        assert (still_runs(claimant()), still_runs(other)) == (True, True)
        child.kill()
    assert still_runs(other) is False


def test_of_a_claimant_of_another_place_nothing_can_be_seen() -> None:
    """A container has its own process numbers, and the machine's clock; another boot has neither."""
    boot, _, rest = claimant().partition("/")
    container, machine = f"{boot}/pid:[1]|{rest.partition('|')[2]}", f"another-boot/{rest}"
    assert [still_runs(owner) for owner in (container, machine)] == [None, None]
    assert [same_boot(owner) for owner in (claimant(), container, machine)] == [True, True, False]


def test_a_forked_child_is_another_claimant() -> None:
    """It has claimed nothing of what its parent has."""
    mine, (reads, writes) = claimant(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writes, claimant().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writes)
    told = os.read(reads, 1000).decode()
    os.close(reads)
    assert told != mine
    assert f"|{pid}:" in told


def test_a_run_of_another_namespace_may_run_and_one_of_another_boot_does_not() -> None:
    """As in a container that shares the store; what an earlier version wrote has no place."""
    place, _, process = claimant().rpartition("|")
    boot = place.partition("/")[0]
    known = {f"{place}|{process}": True, process: True, f"{place}|1:0": False, f"{boot}/pid:[1]|1:0": None}
    assert {owner: may_run(owner) for owner in known} == known
    assert may_run(f"another/pid:[1]|{process}") is False
