"""The loop's checks over recorded steps: each at its boundary, in the loop's order."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from traced_loop.outcomes import StopReason
from traced_loop.rules.budget import Budget
from traced_loop.rules.limit_replay import RecordedCall, RecordedStep, Replay, ReplayedStop, replay
from traced_loop.rules.pricing import Price

STEP = RecordedStep(
    number=1,
    asked=0.0,
    expected_tokens=90,
    tokens=110,
    output_tokens=10,
    cost_usd=Decimal("0.11"),
    price=Price(input=1_000, output=1_000),
    answered=1.0,
    batch=1.0,
    wanted=2,
    calls=(RecordedCall(begun=1.0), RecordedCall(begun=2.0)),
    ended=3.0,
)
STEPS = [
    STEP,
    replace(
        STEP,
        number=2,
        asked=3.0,
        answered=4.0,
        batch=4.0,
        calls=(RecordedCall(begun=4.0, write_timeout=30.0),),
        ended=6.0,
    ),
    replace(STEP, number=3, asked=6.0, answered=7.0, batch=None, wanted=0, calls=(), ended=7.0, is_final=True),
]


def stop(**limits: Any) -> ReplayedStop | None:
    """Where these limits and no others stop the three steps."""
    every = {"steps": None, "tool_calls": None, "tokens": None, "seconds": None, "warn_at": None}
    return replay(Budget(**{**every, **limits}), STEPS).stop


@pytest.mark.parametrize(
    ("limits", "step", "phase", "reason"),
    [
        ({"steps": 2}, 3, "request", StopReason.MAX_STEPS_EXCEEDED),
        ({"tool_calls": 1}, 1, "batch", StopReason.TOOL_BUDGET_EXCEEDED),
        ({"tool_calls": 3}, 2, "batch", StopReason.TOOL_BUDGET_EXCEEDED),
        ({"tokens": 90}, 1, "request", StopReason.TOKEN_BUDGET_EXCEEDED),
        ({"tokens": 109}, 1, "batch", StopReason.TOKEN_BUDGET_EXCEEDED),
        ({"tokens": 110 + 90}, 2, "request", StopReason.TOKEN_BUDGET_EXCEEDED),
        ({"cost_usd": "0.09"}, 1, "request", StopReason.COST_BUDGET_EXCEEDED),
        ({"cost_usd": "0.2"}, 2, "request", StopReason.COST_BUDGET_EXCEEDED),
        ({"seconds": 1}, 1, "batch", StopReason.DEADLINE_EXCEEDED),
        ({"seconds": 2}, 1, "call", StopReason.DEADLINE_EXCEEDED),
        ({"seconds": 3}, 1, "step", StopReason.DEADLINE_EXCEEDED),
        ({"seconds": 7}, 2, "call", StopReason.DEADLINE_EXCEEDED),
        ({"seconds": 2, "tokens": 109}, 1, "batch", StopReason.TOKEN_BUDGET_EXCEEDED),
        ({"seconds": 1, "tokens": 109}, 1, "batch", StopReason.DEADLINE_EXCEEDED),
    ],
)
def test_the_first_check_that_refuses_is_the_stop(
    limits: dict[str, Any], step: int, phase: Any, reason: StopReason
) -> None:
    """By the precedence of stops where several do at once; a write is not begun when its time is not left."""
    assert stop(**limits) == ReplayedStop(step=step, phase=phase, reason=reason, spent=phase != "request")


@pytest.mark.parametrize(
    "limits", [{"steps": 3}, {"tool_calls": 4}, {"tokens": 330}, {"cost_usd": "0.33"}, {"seconds": 50}]
)
def test_a_limit_is_the_last_number_that_is_allowed(limits: dict[str, Any]) -> None:
    """The answer stays the run's end."""
    assert stop(**limits) is None


def test_an_answer_that_a_limit_would_have_shortened_or_cut_is_named() -> None:
    """Longer than what tokens or cost leave, or later than the seconds."""
    free = Budget(steps=None, tool_calls=None, tokens=None, seconds=None, warn_at=None)

    assert replay(replace(free, tokens=329), STEPS[:3]).shortened == ()
    assert replay(replace(free, tokens=319), STEPS) == Replay(shortened=(3,))
    assert replay(replace(free, cost_usd="0.319"), STEPS) == Replay(shortened=(3,))
    assert replay(replace(free, seconds=7.0), [replace(STEPS[2], number=1)]) == Replay(shortened=(1,))


def test_a_repetition_stops_after_the_step_that_completed_it() -> None:
    """Unless something above it is due, or the run had stopped for something that stands."""
    free = Budget(steps=None, tool_calls=None, tokens=None, seconds=None, warn_at=None)
    repeats = replace(STEP, repeats=True)

    def reason(budget: Budget, step: RecordedStep) -> StopReason | None:
        found = replay(budget, [step]).stop
        return None if found is None else found.reason

    assert reason(free, repeats) is StopReason.REPETITION_DETECTED
    assert reason(replace(free, seconds=3.0), repeats) is StopReason.DEADLINE_EXCEEDED
    assert reason(free, replace(repeats, stop="tool_timeout")) is None
    assert reason(free, replace(repeats, stop="max_steps_exceeded")) is StopReason.REPETITION_DETECTED
    assert reason(free, replace(repeats, stop="refused")) is None
