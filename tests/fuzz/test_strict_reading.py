"""The reading that fuzzed runs are held against finds what is there and no more; a loop that runs more is caught."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .bodies import A1, A2, BODIES, call, events, item, part, pieces, response, whole
from .fuzzed_run import Sent, fuzzed
from .mutations import CHANGES
from .strict_reading import asked

GOOD = [("later", 1)]
CHAT: dict[str, tuple[Any, list[tuple[str, int]]]] = {
    "call": (whole({"tool_calls": [call("later", A1)]}, "tool_calls"), GOOD),
    "twice": (whole({"tool_calls": [call("later", A1), call("later", A1, 1)]}, "tool_calls"), GOOD * 2),
    "one-layer-too-many": (whole({"tool_calls": [call("later", json.dumps(A1))]}, "tool_calls"), GOOD),
    "two-layers-too-many": (whole({"tool_calls": [call("later", json.dumps(json.dumps(A1)))]}, "tool_calls"), []),
    "nothing-given": (whole({"tool_calls": [call("later", None), call("save", "")]}, "tool_calls"), [("later", 0)]),
    "cut": (whole({"tool_calls": [call("later", A1)]}, "length"), []),
    "no-reason": (whole({"tool_calls": [call("later", A1)]}, None), []),
    "other-name": (whole({"tool_calls": [call("functions.later", A1)]}, "tool_calls"), []),
    "one-field-too-many": (whole({"tool_calls": [call("later", '{"a": 1, "b": 1}')]}, "tool_calls"), []),
    "one-key-twice": (whole({"tool_calls": [call("later", '{"a": 2, "a": 1}')]}, "tool_calls"), []),
    "text-for-a-number": (whole({"tool_calls": [call("later", '{"a": "1"}')]}, "tool_calls"), []),
    "true-for-a-number": (whole({"tool_calls": [call("later", '{"a": true}')]}, "tool_calls"), []),
    "list": (whole({"tool_calls": [call("later", "[1]")]}, "tool_calls"), []),
    "error-beside-it": ({**whole({"tool_calls": [call("later", A1)]}, "tool_calls"), "error": {"code": 500}}, []),
}
PIECES: dict[str, tuple[bytes, list[tuple[str, int]]]] = {
    "call": (events(*pieces(part(0, A1, name="later", id="x"), finish="tool_calls")), GOOD),
    "cut": (events(*pieces(part(0, A1, name="later", id="x"), finish="length")), []),
    "never-ends": (events(*pieces(part(0, A1, name="later", id="x"), finish=None), done=False), []),
    "two-reasons": (
        events(
            *pieces(part(0, A1, name="later", id="x"), finish="tool_calls"),
            *pieces(finish="length"),
        ),
        [],
    ),
    "reason-behind-the-end": (
        events(*pieces(part(0, A1, name="later", id="x"), finish=None)) + events(*pieces(finish="tool_calls")),
        [],
    ),
    "doubled-arguments": (
        events(*pieces(part(0, A1, name="later", id="x"), part(0, A1), finish="tool_calls")),
        [],
    ),
    "error-inside": (
        events(*pieces(part(0, A1, name="later", id="x"), finish="tool_calls"), {"error": {"code": 1}}),
        [],
    ),
}
RESPONSES: dict[str, tuple[Any, list[tuple[str, int]]]] = {
    "call": (response("completed", item("later", A1)), GOOD),
    "incomplete": (response("incomplete", item("later", A1)), []),
    "no-status": ({"output": [item("later", A1)]}, []),
    "error": (response("completed", item("later", A1), error={"code": "x"}), []),
}


@pytest.mark.parametrize(("body", "calls"), CHAT.values(), ids=CHAT)
def test_a_whole_answer_is_read_strictly(body: Any, calls: list[tuple[str, int]]) -> None:
    """By its finish reason, names and arguments."""
    assert list(asked("chat", json.dumps(body).encode(), streamed=False).elements()) == calls


@pytest.mark.parametrize(("data", "calls"), PIECES.values(), ids=PIECES)
def test_a_stream_is_read_strictly(data: bytes, calls: list[tuple[str, int]]) -> None:
    """Up to its end, for one reason only."""
    assert list(asked("chat", data, streamed=True).elements()) == calls


@pytest.mark.parametrize(("body", "calls"), RESPONSES.values(), ids=RESPONSES)
def test_a_response_is_read_strictly(body: Any, calls: list[tuple[str, int]]) -> None:
    """By its status; streamed, by that of the event which ends it."""
    assert list(asked("responses", json.dumps(body).encode(), streamed=False).elements()) == calls
    for kind, found in (("completed", calls or GOOD * ("status" not in body)), ("failed", [])):
        last = {"type": f"response.{kind}", "response": body}
        assert list(asked("responses", events(last), streamed=True).elements()) == found


def test_a_loop_that_runs_more_is_caught() -> None:
    """Here it is told to tolerate calls beside `stop`."""
    body = json.dumps(whole({"tool_calls": [call("later", A1), call("save", A2, 1)]}, "stop")).encode()
    _, broken = fuzzed("chat", [Sent(body)], streamed=False)
    assert broken == []
    left, broken = fuzzed("chat", [Sent(body)], streamed=False, tolerate={"stop_with_tool_calls"})
    assert len(left.ran) == 2
    assert "later(1) ran 1 times too often" in broken
    assert "2: calls ran from an answer that is not whole, in step 1" in broken


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_change_changes_most_answers(kind: str) -> None:
    """The events of a stream, or the bytes and values of any."""
    able = [body for body in BODIES if body.streamed or kind not in {"move", "double far"}]
    changed = [CHANGES[kind](body.data, 7, 3, body) != body.data for body in able]
    assert sum(changed) > len(able) / 2
