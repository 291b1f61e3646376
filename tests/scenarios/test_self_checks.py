"""The self-checks: all hold here, each plays a run of its own, and a broken promise is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop.scenarios.self_checks import NOT_CHECKED, differences, self_checks

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = {check.promise: check for check in self_checks()}


@pytest.mark.parametrize("promise", CHECKS)
def test_a_promise_holds(promise: str) -> None:
    """None says that nothing was wrong."""
    assert CHECKS[promise].run() is None


def test_every_check_has_its_own_promise() -> None:
    """No line of the report stands twice."""
    assert len(CHECKS) == len(self_checks()) >= 7


def test_what_differs_is_told_with_what_was_wanted() -> None:
    """A broken expectation is a sentence, one part per difference; equal pairs are silent."""
    assert differences((1, 1), ("a", "a")) is None
    assert differences((1, 2), (3, 3), ("x", "y")) == "1 instead of 2; 'x' instead of 'y'"


def test_nothing_is_stored(home: Path) -> None:
    """The checks leave no run behind."""
    for check in CHECKS.values():
        check.run()
    assert not home.exists()


def test_what_is_not_checked_is_said() -> None:
    """A key, a network and a real server are beyond what can be played."""
    assert NOT_CHECKED.startswith("not checked: ")
