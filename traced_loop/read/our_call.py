"""The calls of a trace of our own dialect: the spans of each, put together into what became of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

from traced_loop import names
from traced_loop.closed_words import Emptiness, ErrorClass, Trend
from traced_loop.outcomes import Effect, Outcome
from traced_loop.read.agent_run import StoredAttempt, StoredCall
from traced_loop.read.span_tree import call_id
from traced_loop.read.trace import StoredSpan

Place = tuple[str, str]
"""Trace id and parent id: what the spans of one step have in common, also where the step's own span is lost."""

_NOT_FAILED: Final = frozenset(
    {
        Outcome.OK,
        Outcome.REPLAYED,
        Outcome.CONFIRMATION_REQUIRED,
        Outcome.SKIPPED_BUDGET,
        Outcome.SKIPPED_STOP,
        Outcome.SKIPPED_TRUNCATED,
    }
)
_MS: Final = 1_000_000


@dataclass(slots=True)
class CallSpans:
    """What the trace has of one call, in the order of their starts; the execution apart."""

    place: Place
    call_id: str
    spans: list[StoredSpan] = field(default_factory=list[StoredSpan])

    def first(self, key: str) -> StoredSpan | None:
        """The first span that has this attribute."""
        return next((span for span in self.spans if key in span.attributes), None)

    def last(self, key: str) -> StoredSpan | None:
        """The last one."""
        return next((span for span in reversed(self.spans) if key in span.attributes), None)

    def text(self, key: str) -> str | None:
        """The last text under this key."""
        span = self.last(key)
        return None if span is None else span.text(key)

    def count(self, key: str) -> int | None:
        """The last integer under this key."""
        span = self.last(key)
        return None if span is None else span.count(key)

    def says(self, key: str) -> bool:
        """Whether True stands under this key."""
        return any(span.attributes.get(key) is True for span in self.spans)

    def number(self, key: str) -> float | None:
        """The last number under this key."""
        span = self.last(key)
        return None if span is None else span.number(key)

    @property
    def execution(self) -> StoredSpan | None:
        """The span of its execution."""
        return next((span for span in reversed(self.spans) if span.operation == names.EXECUTE_TOOL), None)

    @property
    def asked(self) -> StoredSpan | None:
        """The span in which a person was asked; one that never ended, or that was cancelled, has no state."""
        found = self.last(names.CONFIRMATION_STATE)
        if found is not None:
            return found
        decisions = (span for span in self.spans if span.name == names.AUTHORIZE_CALL)
        return next((span for span in decisions if span.text(names.SCHEDULE_MODE)), None)

    @property
    def waited_ns(self) -> int:
        """Nanoseconds that a person took to decide, or had when the question was cancelled."""
        asked, said = self.asked, self.count(names.CONFIRMATION_WAIT_MS)
        if said is not None or asked is None or asked.is_open:
            return _milliseconds(said) or 0
        return max(0, asked.end_ns - asked.start_ns)


def spans_by_call(spans: Iterable[StoredSpan]) -> list[CallSpans]:
    """The spans about calls, call by call, in the order in which the calls first appear."""
    found: dict[tuple[Place, str], CallSpans] = {}
    for span in sorted(spans, key=_order):
        call = call_id(span)
        if call is None or span.name in {names.LATE_COMPLETION, names.RECONCILE}:  # no part of how the call ended
            continue
        place = span.trace_id, span.parent_id
        found.setdefault((place, call), CallSpans(place, call)).spans.append(span)
    return list(found.values())


def stored_call(
    found: CallSpans,
    *,
    index: int,
    step: int,
    undone: bool,
    appended: bool | None,
    attempts: Sequence[StoredAttempt],
) -> StoredCall:
    """One call, from its spans."""
    execution, asked = found.execution, found.asked
    outcome = found.text(names.CALL_OUTCOME)
    shown = execution or found.spans[0]
    decided = found.last(names.CALL_OUTCOME)
    spans = [span for span in found.spans if span is not decided] + ([decided] if decided is not None else [])
    return StoredCall(
        index=index,
        step=step,
        call_id=found.call_id,
        tool=found.text(names.GEN_AI_TOOL_NAME) or found.text(names.CALL_TOOL) or "",
        spans=tuple(span.key for span in spans),
        start_ns=shown.start_ns,
        end_ns=(execution or found.spans[-1]).end_ns,
        ran=execution is not None,
        queued_ns=_milliseconds(found.count(names.SCHEDULE_QUEUED_MS)),
        turn=found.count(names.SCHEDULE_GROUP),
        mode=found.text(names.SCHEDULE_MODE),
        mode_reason=found.text(names.SCHEDULE_REASON),
        asked_span=None if asked is None else asked.key,
        asked_ns=0 if asked is None else asked.start_ns,
        waited_ns=found.waited_ns,
        outcome=outcome,
        is_error=outcome is not None and outcome not in _NOT_FAILED,
        is_open=outcome is None and any(span.is_open for span in found.spans),
        attempts=tuple(attempts),
        replayed=outcome == Outcome.REPLAYED,
        undone=undone,
        appended=appended,
        **_compared(found),
    )


def _compared(found: CallSpans) -> Mapping[str, Any]:
    """What two calls can be compared by, and what was decided about one."""
    code, paths = found.text(names.VALIDATION_ERROR_CODE), found.text(names.VALIDATION_ERROR_PATHS)
    effect = found.text(names.EFFECT)
    # Of a call that is ``ok``, what its result told of an error: see ``names.RESULT_ERROR_CLASS``.
    kind = found.text(names.ERROR_CLASS) or found.text(names.RESULT_ERROR_CLASS)
    error = found.text(names.ERROR_MASKED_FINGERPRINT) or found.text(names.RESULT_ERROR_FINGERPRINT)
    trend, empty = found.text(names.RESULT_TREND), found.text(names.RESULT_EMPTY)
    return {
        "error_class": cast("ErrorClass | None", kind if kind in get_args(ErrorClass) else None),
        "error_type": found.text(names.ERROR_TYPE) or code,
        "error": error or (f"{code}:{paths or ''}" if code else None),
        "identity": found.text(names.ARGS_STABLE_FINGERPRINT) or found.text(names.ARGS_FINGERPRINT),
        "arguments_bytes": found.count(names.ARGS_BYTES),
        "result": found.text(names.RESULT_NORMALIZED_FINGERPRINT) or found.text(names.RESULT_FINGERPRINT),
        "masked": found.text(names.RESULT_MASKED_FINGERPRINT),
        "trend": cast("Trend | None", trend if trend in get_args(Trend) else None),
        "result_characters": found.count(names.RESULT_CHARACTERS),
        "result_bytes": found.count(names.RESULT_BYTES),
        "empty": cast("Emptiness | None", empty if empty in get_args(Emptiness) else None),
        "poll": found.count(names.POLL_UNCHANGED) is not None,
        "neutral": found.says(names.NEUTRAL),
        "repeatable": found.says(names.REPEATABLE),
        "truncated": found.says(names.RESULT_TRUNCATED),
        "told_bytes": found.count(names.RESULT_TOLD_BYTES),
        "key": found.text(names.IDEMPOTENCY_KEY_FINGERPRINT),
        "effect": cast("Effect | None", effect if effect in get_args(Effect) else None),
        "timeout": found.number(names.TOOL_TIMEOUT),
        "policy_rule": found.text(names.POLICY_RULE),
        "policy_decision": found.text(names.POLICY_DECISION),
        "validation_code": code,
    }


def _milliseconds(count: int | None) -> int | None:
    return None if count is None else count * _MS


def _order(span: StoredSpan) -> tuple[int, int]:
    index = span.count(names.CALL_INDEX)
    return span.start_ns, 0 if index is None else index
