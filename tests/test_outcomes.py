"""The closed lists are those of the design, and each stop has an exit code."""

from typing import get_args

import pytest

from traced_loop.outcomes import (
    EXIT_CODES,
    ORDERLY_STOPS,
    STOP_PRECEDENCE,
    Decision,
    Effect,
    Outcome,
    Risk,
    StopReason,
)

STOPS = [
    "final_answer",
    "tool_not_allowed",
    "confirmation_required",
    "max_steps_exceeded",
    "tool_budget_exceeded",
    "token_budget_exceeded",
    "cost_budget_exceeded",
    "deadline_exceeded",
    "tool_timeout",
    "tool_failed",
    "repetition_detected",
    "truncated_response",
    "inconsistent_response",
    "content_filtered",
    "refused",
    "empty_response",
    "model_error",
    "outcome_unknown",
    "cancelled",
    "harness_error",
    "unknown_after_crash",
]
OUTCOMES = [
    "ok",
    "error",
    "timed_out",
    "unknown",
    "invalid",
    "unknown_tool",
    "denied",
    "confirmation_required",
    "confirmation_rejected",
    "replayed",
    "conflict",
    "skipped_budget",
    "skipped_truncated",
    "skipped_stop",
    "cancelled",
    "unknown_after_crash",
]


def test_the_closed_lists_hold_exactly_these_words() -> None:
    """Dashboards and alerts name them."""
    assert list(StopReason) == STOPS
    assert list(Outcome) == OUTCOMES
    assert list(Decision) == ["allow", "deny", "needs_confirmation"]
    assert (get_args(Effect), get_args(Risk)) == (("read", "write"), ("low", "high"))


def test_stops_that_are_due_together_have_an_order() -> None:
    """Each once, the worst first."""
    assert [str(stop) for stop in STOP_PRECEDENCE] == [
        "cancelled",
        "outcome_unknown",
        "deadline_exceeded",
        "cost_budget_exceeded",
        "token_budget_exceeded",
        "tool_budget_exceeded",
        "tool_timeout",
        "tool_failed",
        "repetition_detected",
        "max_steps_exceeded",
    ]


@pytest.mark.parametrize("stop", list(StopReason))
def test_every_stop_has_an_exit_code(stop: StopReason) -> None:
    """0 for a final answer only; 2 is kept for usage and configuration."""
    assert (EXIT_CODES[stop] == 0) == (stop is StopReason.FINAL_ANSWER)
    assert EXIT_CODES[stop] != 2


def test_only_an_answer_and_a_pause_are_orderly() -> None:
    """Every other root span is an error."""
    assert {StopReason.FINAL_ANSWER, StopReason.CONFIRMATION_REQUIRED} == ORDERLY_STOPS
