"""What the repetition rules see of one call: no name of a person, no argument, no result, only what equals what.

The same value is made of a live call, of a call of a stored trace and of a call in a log of messages. Identities are
texts of any kind; within one run equal texts mean the same thing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, cast

from traced_loop import names
from traced_loop.closed_words import Emptiness, ErrorClass, Trend
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Effect, Outcome

Standing = Literal["answered", "failed", "failed_for_now", "neutral"]
"""How a call counts: it brought an answer; an error that the same call meets again; one that may pass; not at all (it
did not run, is not answered, or only thinks)."""

NOT_RUN: Final = frozenset(
    {
        Outcome.CONFIRMATION_REQUIRED,
        Outcome.SKIPPED_BUDGET,
        Outcome.SKIPPED_TRUNCATED,
        Outcome.SKIPPED_STOP,
        Outcome.CANCELLED,
        Outcome.UNKNOWN_AFTER_CRASH,
    }
)
"""Outcomes of calls that nobody answered: they are neither news nor a repetition."""


@frozen_value
class SeenCall:
    """One call, and how it ended.

    Attributes:
        index: flat place over all calls of the run, 0-based.
        tool: its name, registered or not.
        call: identity of tool and canonical arguments without what is volatile.
        standing: how it counts.
        result: identity of its result without what is volatile; None of one that is not known.
        masked: the same without numbers, where it has some.
        trend: how they moved since this call last gave a result with these words.
        characters: length of the result.
        empty: in which way the result holds nothing, if it does.
        error: identity of the error without numbers and quotes, of one that failed.
        effect: as declared, or guessed where nobody declares it; None for unknown.
        poll: how often in a row the same answer may come, of a tool that is declared to be asked again and again; None
            where the answer says that nothing will change any more.
        repeatable: a write that is its own each time.
    """

    index: int
    tool: str
    call: str
    standing: Standing
    result: str | None = None
    masked: str | None = None
    trend: Trend | None = None
    characters: int = 0
    empty: Emptiness | None = None
    error: str = ""
    effect: Effect | None = None
    poll: int | None = None
    repeatable: bool = False


def seen_call(attributes: Mapping[str, Any], index: int) -> SeenCall:
    """The call that a span of ours with ``traced_loop.call.outcome`` shows, live or stored."""
    tool = attributes.get(names.GEN_AI_TOOL_NAME) or attributes.get(names.CALL_TOOL) or ""
    call = attributes.get(names.ARGS_STABLE_FINGERPRINT) or attributes.get(names.ARGS_FINGERPRINT)
    outcome = str(attributes.get(names.CALL_OUTCOME) or "")
    result = attributes.get(names.RESULT_NORMALIZED_FINGERPRINT) or attributes.get(names.RESULT_FINGERPRINT)
    if outcome == Outcome.REPLAYED:
        result = result or outcome  # what was stored was told again
    return SeenCall(
        index=index,
        tool=str(tool),
        call=str(call or ""),
        standing=_standing(attributes, outcome) if call else "neutral",
        result=None if result is None else str(result),
        masked=attributes.get(names.RESULT_MASKED_FINGERPRINT),
        trend=attributes.get(names.RESULT_TREND),
        characters=count if type(count := attributes.get(names.RESULT_CHARACTERS)) is int else 0,
        empty=attributes.get(names.RESULT_EMPTY),
        error=_error(attributes, outcome),
        effect=None if outcome == Outcome.REPLAYED else attributes.get(names.EFFECT),
        poll=None if attributes.get(names.POLL_OVER) is True else attributes.get(names.POLL_UNCHANGED),
        repeatable=attributes.get(names.REPEATABLE) is True,
    )


def was_undone(call: SeenCall) -> SeenCall:
    """The same write once it is undone: nothing of it is left that a second one could double."""
    return replace(call, effect=None)


def standing_of(outcome: str, error_class: ErrorClass | None, *, answered: bool, neutral: bool = False) -> Standing:
    """How a call counts.

    Args:
        outcome: a word of ``Outcome``.
        error_class: of its error, or of the error that its result tells of.
        answered: whether its result is known.
        neutral: its tool only thinks or plans.
    """
    if neutral or outcome in NOT_RUN or outcome == Outcome.UNKNOWN:
        return "neutral"
    if outcome in {Outcome.OK, Outcome.REPLAYED} and error_class is None:
        return "answered" if answered else "neutral"
    if error_class == "transient" or outcome == Outcome.TIMED_OUT:
        return "failed_for_now"
    return "failed"


def _standing(attributes: Mapping[str, Any], outcome: str) -> Standing:
    known = names.RESULT_FINGERPRINT in attributes or outcome == Outcome.REPLAYED
    error_class = attributes.get(names.ERROR_CLASS) or attributes.get(names.RESULT_ERROR_CLASS)
    neutral = attributes.get(names.NEUTRAL) is True
    return standing_of(outcome, cast("ErrorClass | None", error_class), answered=known, neutral=neutral)


def _error(attributes: Mapping[str, Any], outcome: str) -> str:
    found = attributes.get(names.ERROR_MASKED_FINGERPRINT) or attributes.get(names.RESULT_ERROR_FINGERPRINT)
    if found:
        return str(found)
    if outcome in {Outcome.OK, Outcome.REPLAYED}:
        return ""
    said = (attributes.get(names.VALIDATION_ERROR_CODE), attributes.get(names.VALIDATION_ERROR_PATHS))
    return " ".join([outcome, *(str(word) for word in said if word)])
