"""The closed lists: why a run ended, how a call ended, what the policy said, and the exit code of each stop."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

Effect = Literal["read", "write"]
"""What a tool changes outside of the process; always declared, never guessed."""

Risk = Literal["low", "high"]
"""Declared with the tool; the policy engine weighs it."""


class StopReason(StrEnum):
    """Why a run ended. Exactly one per run."""

    FINAL_ANSWER = "final_answer"
    TOOL_NOT_ALLOWED = "tool_not_allowed"
    CONFIRMATION_REQUIRED = "confirmation_required"
    MAX_STEPS_EXCEEDED = "max_steps_exceeded"
    TOOL_BUDGET_EXCEEDED = "tool_budget_exceeded"
    TOKEN_BUDGET_EXCEEDED = "token_budget_exceeded"  # noqa: S105 - a word, not a credential
    COST_BUDGET_EXCEEDED = "cost_budget_exceeded"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    TOOL_TIMEOUT = "tool_timeout"
    TOOL_FAILED = "tool_failed"
    REPETITION_DETECTED = "repetition_detected"
    TRUNCATED_RESPONSE = "truncated_response"
    INCONSISTENT_RESPONSE = "inconsistent_response"
    CONTENT_FILTERED = "content_filtered"
    REFUSED = "refused"
    EMPTY_RESPONSE = "empty_response"
    MODEL_ERROR = "model_error"
    OUTCOME_UNKNOWN = "outcome_unknown"
    CANCELLED = "cancelled"
    HARNESS_ERROR = "harness_error"
    UNKNOWN_AFTER_CRASH = "unknown_after_crash"


ORDERLY_STOPS: Final = frozenset({StopReason.FINAL_ANSWER, StopReason.CONFIRMATION_REQUIRED})
"""Stops that are not failures: the root span of every other one has status ERROR."""

LAST_REQUEST_STOPS: Final = frozenset(
    {
        StopReason.MAX_STEPS_EXCEEDED,
        StopReason.TOOL_BUDGET_EXCEEDED,
        StopReason.TOKEN_BUDGET_EXCEEDED,
        StopReason.COST_BUDGET_EXCEEDED,
    }
)
"""Stops that a last request can follow: there is time for one, and what happened is known."""


class Outcome(StrEnum):
    """How one call ended. Exactly one per call id that a model asked for."""

    OK = "ok"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"
    INVALID = "invalid"
    UNKNOWN_TOOL = "unknown_tool"
    DENIED = "denied"
    CONFIRMATION_REQUIRED = "confirmation_required"
    CONFIRMATION_REJECTED = "confirmation_rejected"
    REPLAYED = "replayed"
    CONFLICT = "conflict"
    SKIPPED_BUDGET = "skipped_budget"
    SKIPPED_TRUNCATED = "skipped_truncated"
    SKIPPED_STOP = "skipped_stop"
    CANCELLED = "cancelled"
    UNKNOWN_AFTER_CRASH = "unknown_after_crash"


UNKNOWN_OUTCOMES: Final = frozenset({Outcome.UNKNOWN, Outcome.UNKNOWN_AFTER_CRASH})
"""Nobody knows whether the call did what it is for."""


class Decision(StrEnum):
    """What the policy engine answers about one call."""

    ALLOW = "allow"
    DENY = "deny"
    NEEDS_CONFIRMATION = "needs_confirmation"


STOP_PRECEDENCE: Final = (
    StopReason.CANCELLED,
    StopReason.OUTCOME_UNKNOWN,
    StopReason.DEADLINE_EXCEEDED,
    StopReason.COST_BUDGET_EXCEEDED,
    StopReason.TOKEN_BUDGET_EXCEEDED,
    StopReason.TOOL_BUDGET_EXCEEDED,
    StopReason.TOOL_TIMEOUT,
    StopReason.TOOL_FAILED,
    StopReason.REPETITION_DETECTED,
    StopReason.MAX_STEPS_EXCEEDED,
)
"""When several stops are due at once, the first of these is the run's."""
STOP_RANK: Final[Mapping[str, int]] = {reason: rank for rank, reason in enumerate(STOP_PRECEDENCE)}
"""Place in that order, 0 for the first; a reason that is not in it is a verdict, and stands."""

EXIT_CODES: Final[Mapping[StopReason, int]] = {
    StopReason.FINAL_ANSWER: 0,
    StopReason.MAX_STEPS_EXCEEDED: 3,
    StopReason.TOOL_BUDGET_EXCEEDED: 3,
    StopReason.TOKEN_BUDGET_EXCEEDED: 3,
    StopReason.COST_BUDGET_EXCEEDED: 3,
    StopReason.DEADLINE_EXCEEDED: 3,
    StopReason.TOOL_TIMEOUT: 3,
    StopReason.TOOL_NOT_ALLOWED: 4,
    StopReason.CONFIRMATION_REQUIRED: 4,
    StopReason.TRUNCATED_RESPONSE: 5,
    StopReason.INCONSISTENT_RESPONSE: 5,
    StopReason.CONTENT_FILTERED: 5,
    StopReason.REFUSED: 5,
    StopReason.EMPTY_RESPONSE: 5,
    StopReason.MODEL_ERROR: 6,
    StopReason.REPETITION_DETECTED: 7,
    StopReason.OUTCOME_UNKNOWN: 8,
    StopReason.UNKNOWN_AFTER_CRASH: 8,
    StopReason.TOOL_FAILED: 9,
    StopReason.HARNESS_ERROR: 1,
    StopReason.CANCELLED: 130,
}
"""What the command line exits with; 2 is usage or configuration, before any run."""
