"""What an open span is ended with, decided from its trace."""

from __future__ import annotations

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.recovery.span_ends import CutOff, cut_off

TRACE = "0" * 31 + "1"


def span(number: int, name: str, parent: int = 0, end_ns: int = 0, **attributes: object) -> StoredSpan:
    """A span; open unless it has an end."""
    return StoredSpan(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        name=name,
        start_ns=number * 10,
        end_ns=end_ns,
        is_open=end_ns == 0,
        attributes=attributes,
    )


ROOT = span(1, "invoke_agent a", **{names.GEN_AI_OPERATION: "invoke_agent", f"{names.BUDGET_PREFIX}steps.limit": 8})
STEP = span(2, names.STEP, 1)


def test_a_trace_without_open_spans_has_nothing_to_end() -> None:
    """Nor is anything said of what it was doing."""
    assert cut_off(build([span(1, "invoke_agent a", end_ns=20)], [])) == CutOff()


def test_a_request_that_was_under_way_has_no_answer_and_no_usage() -> None:
    """Nothing is known to be billed; the run's sums leave it out, and its end is the last sign of life."""
    trace = build([ROOT, STEP, span(3, "chat m", 2, **{names.GEN_AI_OPERATION: "chat"})], [])

    found = cut_off(trace)

    chat, step, root = (found.ends[TRACE, f"{number:016x}"] for number in (3, 2, 1))
    assert found.doing == "chat m"
    assert [end.end_ns for end in (chat, step, root)] == [30, 30, 30]
    assert chat.attributes[names.USAGE_SOURCE] == "missing"
    assert chat.attributes[names.GEN_AI_FINISH_REASONS] == ("error",)
    assert step.attributes[names.STEP_OUTCOME] == "stopped"
    assert root.attributes[names.RUN_STOP_DETAIL] == "its process ended in chat m"
    assert root.attributes[f"{names.BUDGET_PREFIX}steps.used"] == 1
    assert root.attributes[f"{names.BUDGET_PREFIX}steps.remaining"] == 7
    assert names.RUN_COST_USD not in root.attributes


def test_a_compensation_that_was_under_way_is_no_call_of_the_model() -> None:
    """Its outcome stands under the key of compensations."""
    undo = {names.GEN_AI_OPERATION: "execute_tool", names.COMPENSATION_CALL_ID: "c1", names.EFFECT: "write"}
    trace = build([ROOT, span(3, "execute_tool undo", 1, **undo)], [])

    end = cut_off(trace).ends[TRACE, f"{3:016x}"]

    assert end.attributes[names.COMPENSATION_OUTCOME] == "unknown_after_crash"
    assert names.CALL_OUTCOME not in end.attributes


def test_spans_without_the_runs_own_are_ended_too() -> None:
    """A file that lost its first line."""
    found = cut_off(build([STEP], []))

    assert list(found.ends) == [STEP.key]
