"""`self-check`: a line for each promise, what is not checked, and a last line that a script can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop.cli.self_check import report
from traced_loop.scenarios.self_checks import NOT_CHECKED, SelfCheck, self_checks

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


def _raises() -> str | None:
    raise RuntimeError("no\nway")


def test_it_passes_here(home: Path) -> None:
    """Exit code 0, the last line exactly so, nothing on stderr and nothing in the store."""
    ended = traced_loop("self-check")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines == [*[f"ok     {check.promise}" for check in self_checks()], NOT_CHECKED, "self-check passed"]
    assert not home.exists()


def test_a_broken_promise_fails_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The line says what was found instead, and the others are still checked."""
    checks = (
        SelfCheck(promise="two is three", run=lambda: "2 instead of 3"),
        SelfCheck(promise="one is one", run=lambda: None),
    )
    assert report(checks) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAILED two is three: 2 instead of 3",
        "ok     one is one",
        NOT_CHECKED,
        "self-check failed: 1 of 2 checks",
    ]


def test_a_check_that_raises_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    """An installation that is broken enough to raise is told like any other, on one line."""
    assert report((SelfCheck(promise="it works", run=_raises),)) == 1
    assert capsys.readouterr().out.splitlines()[0] == "FAILED it works: RuntimeError: no\\nway"
