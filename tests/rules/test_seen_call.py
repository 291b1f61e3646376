"""What the repetition rules see of the spans of a call."""

import pytest

from traced_loop import names
from traced_loop.outcomes import Outcome
from traced_loop.rules.seen_call import seen_call

EXECUTED = {
    names.GEN_AI_TOOL_NAME: "look",
    names.ARGS_FINGERPRINT: "f1",
    names.CALL_OUTCOME: "ok",
    names.RESULT_FINGERPRINT: "r1",
    names.RESULT_NORMALIZED_FINGERPRINT: "n1",
}

STANDING = {
    Outcome.OK: "answered",
    Outcome.ERROR: "failed",
    Outcome.TIMED_OUT: "failed_for_now",
    Outcome.UNKNOWN: "neutral",
    Outcome.INVALID: "failed",
    Outcome.UNKNOWN_TOOL: "failed",
    Outcome.DENIED: "failed",
    Outcome.CONFIRMATION_REQUIRED: "neutral",
    Outcome.CONFIRMATION_REJECTED: "failed",
    Outcome.REPLAYED: "answered",
    Outcome.CONFLICT: "failed",
    Outcome.SKIPPED_BUDGET: "neutral",
    Outcome.SKIPPED_TRUNCATED: "neutral",
    Outcome.SKIPPED_STOP: "neutral",
    Outcome.CANCELLED: "neutral",
    Outcome.UNKNOWN_AFTER_CRASH: "neutral",
}


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_standing(outcome: Outcome) -> None:
    """What nobody answered is neither news nor a repetition; what was refused will be refused again."""
    attributes = {**EXECUTED, names.CALL_OUTCOME: outcome}
    if outcome not in {Outcome.OK, Outcome.REPLAYED}:
        del attributes[names.RESULT_FINGERPRINT]
    assert seen_call(attributes, 0).standing == STANDING[outcome]


def test_an_error_that_may_pass_counts_otherwise() -> None:
    """Raised, or told in a result."""
    raised = {**EXECUTED, names.CALL_OUTCOME: "error", names.ERROR_CLASS: "transient"}
    told = {**EXECUTED, names.RESULT_ERROR_CLASS: "transient"}
    final = {**EXECUTED, names.RESULT_ERROR_CLASS: "deterministic", names.RESULT_ERROR_FINGERPRINT: "e1"}
    assert [seen_call(each, 0).standing for each in (raised, told, final)] == [
        "failed_for_now",
        "failed_for_now",
        "failed",
    ]
    assert seen_call(final, 0).error == "e1"


def test_a_refused_call_is_known_by_what_was_refused() -> None:
    """It has no error text on its span."""
    refused = {
        names.CALL_TOOL: "look",
        names.ARGS_FINGERPRINT: "f1",
        names.CALL_OUTCOME: "invalid",
        names.VALIDATION_ERROR_CODE: "wrong_type",
        names.VALIDATION_ERROR_PATHS: "name",
    }
    found = seen_call(refused, 3)
    assert (found.index, found.tool, found.call, found.error) == (3, "look", "f1", "invalid wrong_type name")


def test_what_is_volatile_makes_no_other_call() -> None:
    """The stable fingerprint is the call's identity where there is one."""
    assert seen_call({**EXECUTED, names.ARGS_STABLE_FINGERPRINT: "s1"}, 0).call == "s1"


def test_a_span_without_fingerprints_is_not_counted() -> None:
    """Nothing is guessed."""
    assert seen_call({}, 0).standing == "neutral"
    assert seen_call({names.GEN_AI_TOOL_NAME: "look", names.CALL_OUTCOME: "ok"}, 0).standing == "neutral"


def test_a_replayed_write_is_not_written_again() -> None:
    """It is a repetition all the same."""
    replayed = {names.CALL_TOOL: "send", names.ARGS_FINGERPRINT: "f1", names.CALL_OUTCOME: "replayed"}
    found = seen_call({**replayed, names.EFFECT: "write"}, 0)
    assert (found.standing, found.effect) == ("answered", None)


@pytest.mark.parametrize("odd", ["<b>", None, [], float("inf")])
def test_a_size_that_is_no_number_is_unknown(odd: object) -> None:
    """A damaged or forged store is read all the same."""
    assert seen_call({names.RESULT_CHARACTERS: odd}, 0).characters == 0
