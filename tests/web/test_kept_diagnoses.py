"""Diagnoses that are kept for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traced_loop.records.trace_store import ENDED_SUFFIX
from traced_loop.web.kept_diagnoses import KeptDiagnoses
from traced_loop.web.shown_findings import ShownDiagnosis

if TYPE_CHECKING:
    from pathlib import Path


class Counted:
    """Makes an empty diagnosis, and counts how often."""

    def __init__(self, *, ended: bool = True) -> None:
        self.ended = ended
        self.made = 0

    def __call__(self) -> tuple[ShownDiagnosis, bool]:
        """One more."""
        self.made += 1
        shown = ShownDiagnosis(
            findings=(), left_out=0, is_healthy=True, is_paused=False, duration_ns=0, times=(), gaps=()
        )
        return shown, self.ended


def spans(folder: Path, run_id: str, text: str = "{}\n") -> None:
    """The span file of a run."""
    (folder / "spans").mkdir(exist_ok=True)
    (folder / "spans" / f"{run_id}{ENDED_SUFFIX}").write_text(text)


def test_an_ended_run_is_diagnosed_once(tmp_path: Path) -> None:
    """Until something more of it is recorded, as by a resume."""
    kept, make = KeptDiagnoses(), Counted()
    spans(tmp_path, "run-1")

    assert kept.of(tmp_path, "run-1", make) is kept.of(tmp_path, "run-1", make)
    spans(tmp_path, "run-1", "{}\n{}\n")
    kept.of(tmp_path, "run-1", make)
    assert make.made == 2


def test_a_run_that_goes_on_is_diagnosed_each_time(tmp_path: Path) -> None:
    """It lasts longer each time."""
    kept, make = KeptDiagnoses(), Counted(ended=False)
    spans(tmp_path, "run-1")

    kept.of(tmp_path, "run-1", make)
    kept.of(tmp_path, "run-1", make)
    assert make.made == 2


def test_a_run_without_a_file_is_never_kept(tmp_path: Path) -> None:
    """Nothing says when it is another one."""
    kept, make = KeptDiagnoses(), Counted()

    kept.of(tmp_path, "run-1", make)
    kept.of(tmp_path, "run-1", make)
    assert make.made == 2


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    """What was asked for longest ago goes first."""
    kept, make = KeptDiagnoses(most=2), Counted()
    for run_id in ("run-1", "run-2", "run-1", "run-3", "run-1"):
        spans(tmp_path, run_id, "{}\n")
        kept.of(tmp_path, run_id, make)

    before = make.made
    kept.of(tmp_path, "run-3", make)
    assert make.made == before
    kept.of(tmp_path, "run-2", make)
    assert make.made == before + 1
