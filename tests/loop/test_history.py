"""The messages of one run."""

import json
from typing import Any

import pytest

from traced_loop import StoreError, tool
from traced_loop.loop.history import History
from traced_loop.messages import Message
from traced_loop.rules.pairing import pairing_problems
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import calls, play


class Kept:
    """A transcript in memory; it refuses what is written while it is broken."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.broken = False

    def append(self, run_id: str, first: int, messages: Any, progress: Any = None) -> None:
        if self.broken:
            raise StoreError("disk full")
        assert (run_id, first) == ("run-1", len(self.messages))
        self.messages.extend(messages)


def assistant(arguments: str) -> Message:
    """A message with one call."""
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"arguments": arguments}}]}


@tool(effect="read")
def look(name: str) -> str:
    """Look something up."""
    return f"about {name}"


def test_the_transcript_keeps_what_the_model_wrote() -> None:
    """Arguments that cannot be sent back stay raw in the record, and go back as an empty object."""
    kept = Kept()
    history = History("run-1", [{"role": "user", "content": "Go."}], Telemetry(), kept, lambda: None)

    history.add_answer(assistant("{oops"), ["{}"])

    assert kept.messages[-1]["tool_calls"][0]["function"]["arguments"] == "{oops"
    assert history.messages[-1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_transcript_that_cannot_be_written_is_counted_and_the_run_goes_on() -> None:
    """A full disk costs the record, not the run."""
    kept, lost = Kept(), []
    kept.broken = True

    history = History("run-1", [{"role": "user", "content": "Go."}], Telemetry(), kept, lambda: lost.append(1))

    assert (len(history.messages), lost) == (1, [1])


def test_fields_that_nobody_knows_go_back_unchanged() -> None:
    """Within a run the provider gets its own message back, reasoning and vendor keys included."""
    function = {"name": "look", "arguments": '{"name": "a"}', "vendor": 1}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function, "extra": {"signature": "s"}}],
        "reasoning_content": "look first",
        "vendor_x": {"k": [1]},
    }

    played = play([{"choices": [{"message": message, "finish_reason": "tool_calls"}]}, "done"], [look])

    assert played.model.requests[1].messages[1] == message


def test_results_stand_in_call_order_before_anything_else() -> None:
    """However the calls ended, their messages follow the assistant's in its order."""
    batch = calls(("look", {"name": "a"}), ("nothing", {}), ("look", {"wrong": 1}), ("look", {"name": "b"}))

    messages = play([batch, "done"], [look]).result.messages

    assert [m.get("tool_call_id") for m in messages] == [None, None, "call_1", "call_2", "call_3", "call_4", None]
    assert pairing_problems(messages) == []


@pytest.mark.parametrize("content", [None, ""])
def test_an_answer_that_says_nothing_is_left_out(content: str | None) -> None:
    """A strict provider refuses an assistant message without text and calls, so none is returned."""
    answer = {"choices": [{"message": {"content": content, "tool_calls": []}, "finish_reason": "stop"}]}

    assert play([answer]).result.messages == ({"role": "user", "content": "Go."},)


def test_a_history_can_be_continued() -> None:
    """What one run returns is where the next one starts."""
    first = play([calls(("look", {"name": "a"})), "about a"], [look]).result

    second = play(["about a, as I said"], [look], "Again?", messages=first.messages)

    assert json.loads(json.dumps(list(second.model.requests[0].messages))) == [
        *first.messages,
        {"role": "user", "content": "Again?"},
    ]
