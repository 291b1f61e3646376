"""What users' own tests stand on: counted ids and clocks, a scripted run, the span tree as lines."""

import pytest

from traced_loop import Budget, ScriptError, tool
from traced_loop.testing import CountedClock, CountedIds, ScriptedModel, Spans, calls, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def test_a_run_is_lines_indented_by_parent_with_each_outcome() -> None:
    """The same every time."""
    script = [calls(("multiply", {"a": 6, "b": 7})), "42"]
    first, second = play(script, tools=[multiply]), play(script, tools=[multiply])
    assert first.result.answer == "42"
    assert first.tree() == [
        "invoke_agent agent -> final_answer",
        "  check_budget request -> ok",
        "  step -> calls_handled",
        "    chat scripted",
        "    validate_call multiply -> valid",
        "    authorize_call multiply -> allow",
        "    check_budget batch -> ok",
        "    execute_tool multiply -> ok",
        "    append_results",
        "    check_budget step -> ok",
        "  check_budget request -> ok",
        "  step -> final",
        "    chat scripted",
        "    check_budget step -> ok",
    ]
    assert second.tree() == first.tree()
    assert second.result == first.result


def test_every_call_has_its_outcomes_by_id() -> None:
    """To assert that each has exactly one."""
    played = play([calls(("multiply", {"a": 6, "b": 7}), ("nothing", {})), "x"], tools=[multiply])
    assert played.spans.outcomes() == {"call_1": ["ok"], "call_2": ["unknown_tool"]}


def test_spans_are_found_by_the_beginning_of_their_name() -> None:
    """By start."""
    played = play([calls(("multiply", {"a": 6, "b": 7})), "42"], tools=[multiply])
    assert [span.name for span in played.spans.named("chat")] == ["chat scripted"] * 2
    assert played.spans.named("cha") == []
    assert played.spans.open == []


def test_lines_that_are_left_fail() -> None:
    """A run that stopped early is noticed."""
    with pytest.raises(ScriptError, match="never asked for"):
        play([calls(("multiply", {"a": 6, "b": 7})), "42"], tools=[multiply], budget=Budget(steps=1))


def test_a_model_of_ones_own_can_be_played() -> None:
    """And what it was asked is there."""
    played = play([], prompt="What?", model=ScriptedModel(["This."]))
    assert played.model.requests[0].messages[-1] == {"role": "user", "content": "What?"}


def test_a_counted_clock_moves_when_it_is_told() -> None:
    """Nothing sleeps."""
    clock = CountedClock()
    before = clock.seconds()
    clock.advance(5)
    assert clock.seconds() - before == pytest.approx(5)
    assert clock.now_ns() < clock.now_ns()


def test_counted_ids_count() -> None:
    """Each kind by itself."""
    ids = CountedIds()
    assert (ids.run_id(), ids.run_id(), ids.call_id(), ids.execution_id()) == (
        "run-1",
        "run-2",
        "made00001",
        "execution-1",
    )
    assert (ids.trace_id(), ids.span_id(), ids.span_id()) == (1, 1, 2)


def test_an_empty_sink_is_an_empty_tree() -> None:
    """Before any run."""
    assert Spans().tree() == []
