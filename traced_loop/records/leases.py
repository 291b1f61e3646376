"""Whether what a process has claimed is still its own: by its life, or by how long it is silent."""

from typing import Final

from traced_loop.records.process_identity import claimant, same_boot, still_runs

LEASE_SECONDS: Final = 30.0
"""How long a claim holds without a sign of its process, where that cannot be seen: in another container or machine."""
BEAT_SECONDS: Final = 10.0
"""Between two such signs."""


def lease_from(now_ns: int, ticks: int) -> tuple[int, int]:
    """Until when a claim holds that is made, or renewed, now: in nanoseconds since 1970, and of the monotonic clock."""
    return now_ns + round(LEASE_SECONDS * 1e9), ticks + round(LEASE_SECONDS * 1e9)


def beat_of(lease_ns: int) -> int:
    """When a claim was made or renewed that holds until then: its process lived, nanoseconds since 1970."""
    return max(0, lease_ns - round(LEASE_SECONDS * 1e9))


def is_over(owner: str, lease_ns: int, lease_ticks: int, *, now_ns: int, ticks: int) -> bool:
    """Whether a claim's process is gone; a clock that is set decides only about other machines.

    Args:
        owner: the claim's.
        lease_ns: until when it holds, in nanoseconds since 1970.
        lease_ticks: the same by the monotonic clock of its machine.
        now_ns: nanoseconds since 1970.
        ticks: of this machine's monotonic clock.
    """
    runs = True if owner == claimant() else still_runs(owner)
    if runs is not None:
        return not runs
    return ticks > lease_ticks if same_boot(owner) else now_ns > lease_ns
