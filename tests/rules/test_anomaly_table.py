"""Every word for something odd has a line that says what is done, and a response that makes it, over real HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from traced_loop import Loop, OpenAIModel, names, tool
from traced_loop.closed_words import Anomaly
from traced_loop.rules.anomaly_table import ANOMALY_TABLE
from traced_loop.testing import CountedIds, Spans, counted_wiring

from ..models.chat_server import Reply, chat_server, delta, streamed
from ..models.responses_server import called, response

RAN: list[Any] = []


@tool(effect="read")
def look(q: str = "") -> str:
    """Look."""
    RAN.append(q)
    return f"seen {q}"


def call(**fields: Any) -> dict[str, Any]:
    """A call, with these fields in place of those of a good one."""
    function = {"name": "look", "arguments": "{}", **fields.pop("function", {})}
    made = {"id": "c1", "type": "function", "function": function, **fields}
    return {name: value for name, value in made.items() if value is not ...}


def body(message: dict[str, Any], reason: Any = "tool_calls", **fields: Any) -> dict[str, Any]:
    """A response with this message."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": None, **message}}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return {"id": "r", "model": "m", "choices": [choice], "usage": usage, **fields}


def calling(*calls: Any, **fields: Any) -> dict[str, Any]:
    """A response with these calls."""
    return body({"tool_calls": list(calls)}, **fields)


SAID = body({"content": "done"}, "stop")
CUT = call(function={"arguments": '{"q": "te'})
NAN = json.dumps({**calling(call()), "x": 1}).replace('"content": null', '"content": null, "score": NaN').encode()
BAD_TEXT = json.dumps(calling(call(vendor="@"))).replace("@", "\\ud83e").encode()

CASES: dict[Anomaly, tuple[Reply, dict[str, Any], int]] = {
    Anomaly.STOP_WITH_TOOL_CALLS: (Reply(body=calling(call(), reason="stop")), {}, 0),
    Anomaly.FINISH_REASON_CONTRADICTS_CALLS: (Reply(body=calling(call(), reason="surprise")), {}, 0),
    Anomaly.TOOL_CALLS_MISSING: (Reply(body=body({"content": "hm"})), {}, 0),
    Anomaly.FINISH_REASON_MISSING: (Reply(body=calling(call(), reason=None)), {}, 0),
    Anomaly.FINISH_REASON_UNKNOWN: (Reply(body=body({"content": "hm"}, "surprise")), {}, 0),
    Anomaly.CALL_AS_TEXT: (
        Reply(body=body({"content": '<tool_call>{"name": "look", "arguments": {}}</tool_call>'}, "stop")),
        {},
        0,
    ),
    Anomaly.CALL_DEPRECATED: (
        Reply(body=body({"function_call": {"name": "look", "arguments": "{}"}}, "function_call")),
        {},
        0,
    ),
    Anomaly.NAME_NOT_VALID: (Reply(body=calling(call(function={"name": "functions.look"}))), {}, 0),
    Anomaly.CONTENT_NOT_TEXT: (Reply(body=body({"content": {"text": "x"}, "tool_calls": [call()]})), {}, 1),
    Anomaly.CONTENT_TYPE_WRONG: (Reply(body=calling(call()), content_type="text/plain"), {}, 1),
    Anomaly.HIDDEN_TRUNCATION: (Reply(body=calling(CUT)), {"max_completion_tokens": 2}, 0),
    Anomaly.ID_SYNTHESIZED: (Reply(body=calling(call(id=...))), {}, 1),
    Anomaly.ID_DUPLICATE: (Reply(body=calling(call(), call(function={"arguments": '{"q": "b"}'}))), {}, 2),
    Anomaly.CALL_ECHO: (Reply(body=calling(call(), call())), {}, 1),
    Anomaly.ARGUMENTS_NOT_TEXT: (Reply(body=calling(call(function={"arguments": {"q": "a"}}))), {}, 1),
    Anomaly.ARGUMENTS_EMPTY: (Reply(body=calling(call(function={"arguments": ""}))), {}, 1),
    Anomaly.ARGUMENTS_DOUBLE_ENCODED: (Reply(body=calling(call(function={"arguments": '"{}"'}))), {}, 1),
    Anomaly.ARGUMENTS_FENCED: (Reply(body=calling(call(function={"arguments": "```json\n{}\n```"}))), {}, 1),
    Anomaly.TEXT_NOT_UNICODE: (Reply(body=BAD_TEXT), {}, 1),
    Anomaly.NUMBER_NOT_JSON: (Reply(body=NAN), {}, 1),
    Anomaly.USAGE_MISSING: (Reply(body=calling(call(), usage=None)), {}, 1),
    Anomaly.USAGE_INCONSISTENT: (
        Reply(body=calling(call(), usage={"prompt_tokens": "many", "completion_tokens": 2})),
        {},
        1,
    ),
    Anomaly.MALFORMED_CALL: (Reply(body=calling(call(), {"id": "c2", "type": "custom"})), {}, 0),
    Anomaly.SEVERAL_CHOICES: (
        Reply(body={**calling(call()), "choices": calling(call())["choices"] * 2}),
        {},
        1,
    ),
}

PIECE = call(index=0)
IN_PIECES: dict[Anomaly, tuple[Reply, int]] = {
    Anomaly.STREAM_IGNORED: (Reply(body=calling(call())), 1),
    Anomaly.STREAM_INDEX_MISSING: (streamed(delta(tool_calls=[call()]), delta("tool_calls")), 1),
    Anomaly.STREAM_INDEX_REUSED: (
        streamed(
            delta(tool_calls=[PIECE]),
            delta(tool_calls=[call(index=0, id="c2", function={"arguments": '{"q": "b"}'})]),
            delta("tool_calls"),
        ),
        2,
    ),
    Anomaly.STREAM_INDEX_GAP: (streamed(delta(tool_calls=[call(index=3)]), delta("tool_calls")), 1),
    Anomaly.STREAM_CALL_UNCLEAR: (streamed(delta(tool_calls=[PIECE, 7]), delta("tool_calls")), 0),
    Anomaly.STREAM_UNFINISHED: (streamed(delta(tool_calls=[PIECE])), 0),
    Anomaly.STREAM_FINISH_CHANGED: (streamed(delta(tool_calls=[PIECE]), delta("tool_calls"), delta("length")), 0),
    Anomaly.STREAM_AFTER_FINISH: (streamed(delta("tool_calls"), delta(tool_calls=[PIECE])), 1),
    Anomaly.STREAM_EVENT_ODD: (streamed(7, delta(tool_calls=[PIECE]), delta("tool_calls")), 1),
}
"""What only a stream can have."""
HALF = response(called("look", {}, status="incomplete"))


def test_every_word_has_a_line_of_its_own() -> None:
    """What is seen on a span can be looked up."""
    assert set(ANOMALY_TABLE) == set(Anomaly)
    assert len(set(ANOMALY_TABLE.values())) == len(Anomaly)


def test_every_word_has_a_response_that_makes_it() -> None:
    """A word that nothing makes would be a promise that nobody keeps; a replay that differs is no response's."""
    assert {*CASES, *IN_PIECES, Anomaly.ITEM_INCOMPLETE, Anomaly.REPLAY_DIVERGED} == set(Anomaly)


@pytest.mark.parametrize(("word", "case"), CASES.items(), ids=list(CASES))
def test_a_response_has_its_word_on_the_spans_and_runs_what_it_may(
    word: Anomaly, case: tuple[Reply, dict[str, Any], int]
) -> None:
    """On the ``chat`` span, or on that of the call; nothing suspect runs, and a history can always be sent again."""
    reply, request, runs = case
    assert_marked(word, reply, runs, request=request)


@pytest.mark.parametrize(("word", "case"), IN_PIECES.items(), ids=list(IN_PIECES))
def test_a_stream_has_its_word_on_the_spans_and_runs_what_it_may(word: Anomaly, case: tuple[Reply, int]) -> None:
    """As an answer that comes whole."""
    assert_marked(word, *case, stream=True)


def test_an_item_that_is_not_complete_has_its_word_and_does_not_run() -> None:
    """Only Responses has such items."""
    spans = Spans()
    RAN.clear()
    with chat_server(Reply(body=HALF)) as server:
        model = OpenAIModel("m", base_url=server.base_url, api="responses")
        result = Loop(model, [look], wiring=counted_wiring(spans, ids=CountedIds())).run("Go.")
    marked = [span.attributes.get(names.ANOMALIES) for span in spans.ended_spans]
    assert Anomaly.ITEM_INCOMPLETE in marked
    assert (RAN, result.stop_reason) == ([], "truncated_response")


def assert_marked(
    word: Anomaly, reply: Reply, runs: int, *, request: dict[str, Any] | None = None, stream: bool = False
) -> None:
    """Run one loop on the reply and look at its spans, and at what was sent after it."""
    spans, ids = Spans(), CountedIds()
    RAN.clear()
    then = streamed(delta(content="done"), delta("stop")) if stream else Reply(body=SAID)
    with chat_server(then, first=[reply]) as server:
        model = OpenAIModel("m", base_url=server.base_url, stream=stream)
        loop = Loop(model, [look], wiring=counted_wiring(spans, ids=ids), ids=ids, request=request or {})
        result = loop.run("Go.")
        bodies = server.bodies
    marked = [span.attributes.get(names.ANOMALIES) for span in spans.ended_spans]
    assert any(word in (each or "").split(",") for each in marked)
    assert len(RAN) == runs
    assert (result.answer == "done") == (len(bodies) == 2)
    for message in bodies[-1]["messages"]:
        assert message.get("tool_calls") != []
        assert message["content"] is None or isinstance(message["content"], str)
