"""What is held goes out together, is dropped together, and is bounded."""

from __future__ import annotations

import pytest

from traced_loop import names
from traced_loop.export import held_spans
from traced_loop.export.held_spans import EndedRun, HeldSpans
from traced_loop.rules.run_sampling import RunSampling

GOOD = EndedRun(attributes={names.RUN_STOP_REASON: "final_answer"}, failed=False, seconds=1.0, trace_id=1)
FAILED = EndedRun(attributes={}, failed=True, seconds=1.0, trace_id=1)


def test_a_run_is_decided_by_its_root() -> None:
    """And so are spans that end after it."""
    held: HeldSpans[str] = HeldSpans(RunSampling(ratio=0))
    for run_id in ("good", "bad"):
        assert held.ready(run_id, f"{run_id} step") == []
        assert held.decision(run_id) is None

    assert held.ready("good", "good root", GOOD) == []
    assert held.ready("bad", "bad root", FAILED) == ["bad step", "bad root"]

    assert (held.decision("good"), held.decision("bad")) == (False, True)
    assert held.ready("good", "late") == []
    assert held.ready("bad", "late") == ["late"]
    assert held.rest() == []


def test_what_belongs_to_no_run_passes() -> None:
    """It waits for nobody."""
    held: HeldSpans[str] = HeldSpans(RunSampling(ratio=0))
    assert held.ready(None, "library") == ["library"]


def test_what_is_left_goes_out_once() -> None:
    """Of runs that have not ended."""
    held: HeldSpans[int] = HeldSpans(RunSampling(ratio=0))
    held.ready("a", 1)
    held.ready("b", 2)
    assert sorted(held.rest()) == [1, 2]
    assert held.rest() == []


def test_a_run_too_long_to_be_held_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes out as it comes from then on; decisions are remembered in bounds."""
    monkeypatch.setattr(held_spans, "MAX_SPANS_HELD", 3)
    monkeypatch.setattr(held_spans, "MAX_DECISIONS", 2)
    held: HeldSpans[int] = HeldSpans(RunSampling(ratio=0))
    assert [held.ready("a", number) for number in range(5)] == [[], [], [], [0, 1, 2, 3], [4]]
    for run_id in ("b", "c"):
        held.ready(run_id, 0, GOOD)
    assert [held.decision(run_id) for run_id in ("a", "b", "c")] == [None, False, False]


def test_a_forked_child_holds_nothing_of_its_parent() -> None:
    """The parent sends it; what was decided is known to both."""
    held: HeldSpans[str] = HeldSpans(RunSampling(ratio=0))
    held.ready("bad", "bad root", FAILED)
    held.ready("open", "step")

    held.begin()

    assert (held.rest(), held.decision("bad")) == ([], True)
    assert held.ready("open", "in the child", FAILED) == ["in the child"]
