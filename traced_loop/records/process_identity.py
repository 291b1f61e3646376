"""Which process it was: told apart from a later one with the same number, and from one of another machine.

Within one boot and one process namespace it can be seen whether a process still runs. From anywhere else it cannot, and
a lease decides.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final


def process_identity(pid: int | None = None) -> str | None:
    """``pid:start`` of a process, so that a reused pid is not taken for the old process; None when it is gone.

    The start comes from ``/proc`` where that exists, and is empty elsewhere.
    """
    number = pid or os.getpid()
    try:
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return _without_proc(number)
    return None if fields[0] == "Z" else f"{number}:{fields[19]}"


def is_alive(process: str) -> bool:
    """Whether the process that wrote a run still runs."""
    pid = process.partition(":")[0]
    return pid.isdigit() and process_identity(int(pid)) == process


def _without_proc(pid: int) -> str | None:
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return f"{pid}:"
    return f"{pid}:"


def claimant() -> str:
    """This process, and where it runs: ``place|pid:start``."""
    pid = os.getpid()
    if pid not in _CLAIMANTS:  # a forked child asks for itself
        _CLAIMANTS.clear()
        _CLAIMANTS[pid] = f"{_place()}|{process_identity() or f'{pid}:'}"
    return _CLAIMANTS[pid]


def still_runs(owner: str) -> bool | None:
    """Whether a claimant still runs; None where that cannot be seen from this process."""
    place, _, process = owner.rpartition("|")
    return is_alive(process) if place == _place() else None


def may_run(owner: str) -> bool | None:
    """Whether the process of a run still runs, also one that is known by ``pid:start`` alone.

    None where its numbers are those of another namespace of this boot, as in a container; of another boot it is gone.
    """
    place, _, process = owner.rpartition("|")
    if place in {"", _place()}:
        return is_alive(process)
    return None if same_boot(owner) else False


def same_boot(owner: str) -> bool:
    """Whether its monotonic clock is the one of this process."""
    return owner.partition("/")[0] == _place().partition("/")[0]


_CLAIMANTS: Final[dict[int, str]] = {}
_PLACES: Final[list[str]] = []


def _place() -> str:
    """``boot/namespace``: of this boot of this machine, and of the process numbers that are seen here."""
    if not _PLACES:
        boot = namespace = ""
        with suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - no path, a name in brackets
        _PLACES.append(f"{boot or socket.gethostname()}/{namespace}")
    return _PLACES[0]
