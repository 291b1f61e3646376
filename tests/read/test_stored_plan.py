"""The decision table of a stored step."""

from typing import Any

import pytest

from traced_loop import UsageError, names
from traced_loop.read.span_tree import build
from traced_loop.read.stored_plan import stored_table
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.rules.decision_table import Row


def span(number: int, parent: int, name: str, **attributes: Any) -> StoredSpan:
    """A span; keys are given by the names of their constants."""
    keys = {getattr(names, key): value for key, value in attributes.items()}
    ids = {"trace_id": "t", "span_id": str(number), "parent_id": str(parent)}
    return StoredSpan(name=name, start_ns=number, end_ns=number + 1, attributes=keys, **ids)


def trace(*spans: StoredSpan) -> StoredTrace:
    """A run of two steps, the first with these spans."""
    root = span(1, 0, "invoke_agent a", GEN_AI_OPERATION=names.INVOKE_AGENT)
    steps = [span(2, 1, names.STEP, STEP_INDEX=1), span(90, 1, names.STEP, STEP_INDEX=2)]
    return build([root, *steps, *spans])


def test_each_call_is_a_row_in_the_order_of_the_answer() -> None:
    """What its spans say, put together: the last word on the outcome counts."""
    step, table = stored_table(
        trace(
            span(4, 2, names.VALIDATE_CALL, CALL_ID="b", CALL_INDEX=1, CALL_TOOL="save", VALIDATION_OUTCOME="valid"),
            span(5, 2, names.VALIDATE_CALL, CALL_ID="a", CALL_INDEX=0, CALL_TOOL="look", VALIDATION_OUTCOME="repaired"),
            span(6, 2, names.AUTHORIZE_CALL, CALL_ID="a", POLICY_DECISION="allow", POLICY_RULE="r", EFFECT="read"),
            span(7, 2, names.AUTHORIZE_CALL, CALL_ID="b", POLICY_DECISION="needs_confirmation", EFFECT="write"),
            span(
                8, 2, "execute_tool look", GEN_AI_TOOL_CALL_ID="a", CALL_OUTCOME="ok", SCHEDULE_GROUP=1,
                SCHEDULE_MODE="serial", SCHEDULE_REASON="write",
            ),
            span(
                9, 2, names.AUTHORIZE_CALL, CALL_ID="b", CONFIRMATION_STATE="rejected", SCHEDULE_GROUP=2,
                CALL_OUTCOME="confirmation_rejected",
            ),
        )
    )  # fmt: skip

    first = Row(
        place=1, call_id="a", tool="look", effect="read", validation="repaired", decision="allow", rule="r", turn=1,
        mode="serial", why="write", outcome="ok",
    )  # fmt: skip
    second = Row(
        place=2, call_id="b", tool="save", effect="write", validation="valid", decision="needs_confirmation", turn=2,
        waits_for=("a",), confirmation="rejected", outcome="confirmation_rejected",
    )  # fmt: skip
    assert (step, table.rows) == (1, (first, second))


def test_what_a_trace_does_not_say_is_not_made_up() -> None:
    """A trace of before there were turns, or with attributes of other types."""
    _, table = stored_table(
        trace(
            span(4, 2, names.VALIDATE_CALL, CALL_ID="a", CALL_INDEX="x"),
            span(5, 2, "execute_tool look", GEN_AI_TOOL_CALL_ID="a", SCHEDULE_GROUP="1", CALL_OUTCOME=7),
            span(6, 2, "execute_tool look", GEN_AI_TOOL_CALL_ID="of another step"),
            span(7, 2, "something else"),
        )
    )
    assert table.rows == (Row(place=1, call_id="a", tool="_unknown"),)


def test_a_replay_is_what_became_of_its_call_and_a_compensation_is_no_call() -> None:
    """The turn stands on the replay; what undoes a call has no row."""
    _, table = stored_table(
        trace(
            span(4, 2, names.VALIDATE_CALL, CALL_ID="a", CALL_INDEX=0, CALL_TOOL="save", VALIDATION_OUTCOME="valid"),
            span(5, 2, names.REPLAY, CALL_ID="a", CALL_TOOL="save", CALL_OUTCOME="replayed", SCHEDULE_GROUP=2),
            span(6, 2, names.AUTHORIZE_CALL, COMPENSATION_CALL_ID="a", CALL_TOOL="undo", POLICY_DECISION="deny"),
        )
    )
    (row,) = table.rows
    assert (row.tool, row.turn, row.outcome, row.decision) == ("save", 2, "replayed", None)


def test_the_step_that_stopped_the_run_says_so() -> None:
    """With the reason that stands on the deciding span."""
    decided = span(5, 2, names.AUTHORIZE_CALL, CALL_ID="a", RUN_STOP_REASON="tool_not_allowed")
    _, table = stored_table(trace(span(4, 2, names.VALIDATE_CALL, CALL_ID="a"), decided))
    assert table.stop == "tool_not_allowed"


def test_a_step_without_calls_is_no_table() -> None:
    """The message names the steps that have some."""
    with pytest.raises(UsageError, match="step 3 has no calls here; steps with calls: 1"):
        stored_table(trace(span(4, 2, names.VALIDATE_CALL, CALL_ID="a")), 3)


@pytest.mark.parametrize("step", [2, 3, None])
def test_a_run_without_calls_has_no_table(step: int | None) -> None:
    """Whichever step is asked for: no number of one is made up."""
    with pytest.raises(UsageError, match="the run has no calls"):
        stored_table(trace(), step)
