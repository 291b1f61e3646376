"""An amount of a limit in words."""

from __future__ import annotations

import pytest

from traced_loop.views.limit_amounts import limit_text


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("steps", 3.0, "3"),
        ("tokens", 200_000, "200,000"),
        ("seconds", 12.5, "12.5 s"),
        ("tool_seconds", 0.25, "250 ms"),
        ("cost_usd", 0.5, "$0.5000"),
        ("shared.cost_usd", 2, "$2.00"),
        ("cost_usd", None, "unknown"),
        ("steps", None, "unknown"),
    ],
)
def test_each_limit_has_its_unit(name: str, number: float | None, text: str) -> None:
    """A shared limit has the unit of a run's own."""
    assert limit_text(name, number) == text
