"""The run that the lab takes apart."""

from pathlib import Path

from traced_loop import StopReason
from traced_loop.read.local_store import LocalStore
from traced_loop.rules.pairing import pairing_problems
from traced_loop.scenarios.lesson_run import lesson_run


def test_it_searches_and_calculates_and_answers_the_same_each_time(tmp_path: Path) -> None:
    """Two playings have the same messages; 18 * (4 + 2) is computed by the tool, not by the script."""
    first, second = (lesson_run().play(tmp_path) for _ in range(2))
    assert first.messages == second.messages
    assert first.run_id != second.run_id
    assert first.stop_reason is StopReason.FINAL_ANSWER
    assert first.answer is not None
    assert "18 * (4 + 2) = 108" in first.answer
    assert [message["role"] for message in first.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert '"result":108' in first.messages[4]["content"]
    assert pairing_problems(first.messages) == []


def test_it_is_recorded_as_any_run(tmp_path: Path) -> None:
    """Its spans and its messages are in the store."""
    result = lesson_run().play(tmp_path)
    with LocalStore.open(tmp_path) as store:
        assert len(store.run(result.run_id).trace.spans) == result.receipt.spans_recorded
        assert store.messages(result.run_id).messages == result.messages
