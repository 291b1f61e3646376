"""The runs that ship keep every promise: those of the demo, of the sandbox, of the self-check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from traced_loop.diagnose.conformance import conform
from traced_loop.scenarios import self_checks
from traced_loop.scenarios.sandbox_runs import Mode
from traced_loop.testing import play

from ..command_line import traced_loop
from .stored_runs import stored_run

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.testing import Played


def test_the_demo_and_the_sandbox_keep_every_promise(home: Path) -> None:
    """As they lie in the store, by the command that CI would use."""
    traced_loop("demo")
    for mode in get_args(Mode):
        traced_loop("sandbox", "--mode", mode)

    ended = traced_loop("conform", str(home))

    assert (ended.code, ended.out) == (0, "0 violations in 0 of 7 runs\n")


def test_the_self_checks_keep_every_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """They store nothing, so their spans are taken as they are played."""
    seen: list[Played] = []

    def played(*given: Any, **options: Any) -> Played:
        seen.append(play(*given, **options))
        return seen[-1]

    monkeypatch.setattr(self_checks, "play", played)
    for check in self_checks.self_checks():
        assert check.run() is None

    assert len(seen) == len(self_checks.self_checks())
    assert [conform(stored_run(each.spans)).violations for each in seen] == [()] * len(seen)
