"""What may stand in a trace of ours: names of spans, keys of attributes, and the words of closed lists under them."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from traced_loop import closed_words, names, outcomes
from traced_loop.closed_words import Anomaly, ErrorCode, ModelErrorKind, RepetitionKind
from traced_loop.outcomes import Decision, Outcome, StopReason


def _words(listed: Any) -> frozenset[str]:
    return frozenset(get_args(listed) or [str(word) for word in listed])


ALLOWED_WORDS: Final[Mapping[str, frozenset[str]]] = {
    names.RUN_STOP_REASON: _words(StopReason),
    names.CALL_OUTCOME: _words(Outcome),
    names.LATE_OUTCOME: _words(Outcome),
    names.COMPENSATION_OUTCOME: _words(Outcome),
    names.RECONCILIATION_ANSWER: _words(closed_words.ReconcileAnswer),
    names.RECONCILIATION_CAUSE: _words(closed_words.ReconcileCause),
    names.POLICY_DECISION: _words(Decision),
    names.VALIDATION_ERROR_CODE: _words(ErrorCode),
    names.REPETITION_KIND: _words(RepetitionKind),
    names.MODEL_ERROR_KIND: _words(ModelErrorKind),
    names.EFFECT: _words(outcomes.Effect),
    names.RISK: _words(outcomes.Risk),
    names.ATTEMPT_KIND: _words(closed_words.AttemptKind),
    names.BUDGET_PHASE: _words(closed_words.BudgetPhase),
    names.BUDGET_OUTCOME: _words(closed_words.BudgetOutcome),
    names.STEP_OUTCOME: _words(closed_words.StepOutcome),
    names.SCHEDULE_MODE: _words(closed_words.ScheduleMode),
    names.SCHEDULE_REASON: _words(closed_words.ScheduleReason),
    names.USAGE_SOURCE: _words(closed_words.UsageSource),
    names.COST_SOURCE: _words(closed_words.CostSource),
    names.RUN_COST_SOURCE: _words(closed_words.CostSource),
    names.RUN_COST_BAND: _words(closed_words.CostBand),
    names.CONFIRMATION_STATE: _words(closed_words.ConfirmationState),
    names.VALIDATION_OUTCOME: _words(closed_words.ValidationOutcome),
    names.RESULT_TREND: _words(closed_words.Trend),
    names.RESULT_EMPTY: _words(closed_words.Emptiness),
    names.ERROR_CLASS: _words(closed_words.ErrorClass),
    names.RESULT_ERROR_CLASS: _words(closed_words.ErrorClass),
    names.REPETITION_VERDICT: _words(closed_words.RepetitionReaction),
    names.REPETITION_DUE: _words(closed_words.RepetitionReaction),
}
"""The words of every key that holds one."""

ALLOWED_LISTS: Final[Mapping[str, frozenset[str]]] = {names.ANOMALIES: _words(Anomaly)}
"""The same of keys that hold several, comma-separated."""

_CONSTANTS: Final = frozenset(value for key, value in vars(names).items() if key.isupper() and isinstance(value, str))

OUR_PREFIX: Final = f"{names.SCOPE}."
KNOWN_KEYS: Final = frozenset(value for value in _CONSTANTS if "." in value and not value.endswith("."))
"""Every key that a span of ours may have."""
KNOWN_PREFIXES: Final = tuple(sorted(value for value in _CONSTANTS if value.endswith(".") and value != OUR_PREFIX))
"""What other keys of ours begin with."""
KNOWN_SPANS: Final = frozenset(
    {
        names.STEP,
        names.ATTEMPT,
        names.VALIDATE_CALL,
        names.AUTHORIZE_CALL,
        names.APPEND_RESULTS,
        names.CHECK_BUDGET,
        names.LATE_COMPLETION,
        names.REPLAY,
        names.RECONCILE,
        names.DOCTOR,
    }
)
"""Spans of ours that are known by their whole name."""
NAMED_SPANS: Final[tuple[str, ...]] = (names.INVOKE_AGENT, names.CHAT, names.EXECUTE_TOOL)
"""Spans of ours whose name adds an agent, a model or a tool: the standard ones, and the only ones with ``gen_ai.*``."""
