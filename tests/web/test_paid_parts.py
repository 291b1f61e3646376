"""What the tokens of a run were for."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.read.trace import StoredTrace
from traced_loop.web.paid_parts import paid_parts

from .sample_runs import repeating_run

if TYPE_CHECKING:
    from pathlib import Path


def test_the_parts_add_up_to_what_was_counted_and_billed(home: Path) -> None:
    """The most first, side by side in a bar that is full."""
    result = repeating_run(home)
    with LocalStore.open(home) as store:
        parts = paid_parts(our_run(store.trace(result.run_id)))

    assert {part.kind for part in parts} == {"prompt", "answer", "result", "output"}
    assert sum(part.tokens for part in parts) == result.usage.tokens
    assert [part.tokens for part in parts] == sorted((part.tokens for part in parts), reverse=True)
    costs = [part.cost_usd for part in parts if part.cost_usd is not None]
    assert sum(costs, Decimal(0)) == pytest.approx(result.usage.cost_usd)
    assert sum(part.part for part in parts) == pytest.approx(1)
    assert all(round(a.x + a.width, 2) == b.x for a, b in pairwise(parts))


def test_without_counts_there_is_nothing_to_tell() -> None:
    """No part of nothing."""
    assert paid_parts(AgentRun(id="r", dialect="traced_loop", trace=StoredTrace())) == ()
