"""Diagnoses that are kept for a while."""

from __future__ import annotations

from traced_loop.web.kept_diagnoses import KeptDiagnoses
from traced_loop.web.shown_findings import ShownDiagnosis


class Counted:
    """Makes an empty diagnosis, and counts how often."""

    def __init__(self, *, ended: bool = True) -> None:
        self.ended = ended
        self.made = 0

    def __call__(self) -> tuple[ShownDiagnosis, bool]:
        """One more."""
        self.made += 1
        shown = ShownDiagnosis(
            findings=(),
            left_out=0,
            is_healthy=True,
            is_paused=False,
            is_running=not self.ended,
            as_of=None,
            duration_ns=0,
            is_whole=True,
            times=(),
            gaps=(),
        )
        return shown, self.ended


def test_an_ended_run_is_diagnosed_once() -> None:
    """Until something more of it is recorded, as by a resume."""
    kept, make = KeptDiagnoses(), Counted()

    assert kept.of("run-1", "a", make) is kept.of("run-1", "a", make)
    kept.of("run-1", "b", make)
    kept.of("run-2", "b", make)
    assert make.made == 3


def test_a_run_that_goes_on_is_diagnosed_each_time() -> None:
    """It lasts longer each time."""
    kept, make = KeptDiagnoses(), Counted(ended=False)

    kept.of("run-1", "a", make)
    kept.of("run-1", "a", make)
    assert make.made == 2


def test_only_the_last_ones_are_kept() -> None:
    """What was asked for longest ago goes first."""
    kept, make = KeptDiagnoses(most=2), Counted()
    for run_id in ("run-1", "run-2", "run-1", "run-3", "run-1"):
        kept.of(run_id, "a", make)

    before = make.made
    kept.of("run-3", "a", make)
    assert make.made == before
    kept.of("run-2", "a", make)
    assert make.made == before + 1
