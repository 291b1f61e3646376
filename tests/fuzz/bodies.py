"""What a fuzzed run begins from: answers that servers sent, recorded in ``seeds``, and others that are written here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Api = Literal["chat", "responses"]
USAGE = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}


@dataclass(frozen=True)
class Body:
    """One answer, byte by byte.

    Attributes:
        name: for the ids of tests.
        api: whose answer it is.
        streamed: whether it comes as events.
        data: the bytes.
    """

    name: str
    api: Api
    streamed: bool
    data: bytes


def recorded() -> list[Body]:
    """Those that ``record_seeds`` wrote."""
    found = sorted(Path(__file__).with_name("seeds").iterdir())
    apis: tuple[Api, ...] = ("chat", "responses")
    return [
        Body(path.name, api, path.suffix == ".sse", path.read_bytes())
        for path in found
        for api in apis
        if f"-{api}-" in path.name
    ]


def call(tool: str, arguments: Any, number: int = 0, **more: Any) -> dict[str, Any]:
    """A call of Chat Completions."""
    function = {"name": tool, "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function, **more}


def whole(message: dict[str, Any], finish: str | None) -> Any:
    """A whole answer of Chat Completions."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE}


def pieces(*deltas: dict[str, Any], finish: str | None) -> list[Any]:
    """The events of a streamed one; the counts come last."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m"}
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    return [*[{**head, "choices": [choice]} for choice in choices], {**head, "choices": [], "usage": USAGE}]


def part(index: int | None, arguments: str, **more: Any) -> dict[str, Any]:
    """A delta with a piece of one call."""
    name, function = more.pop("name", None), {"arguments": arguments}
    entry: dict[str, Any] = {"function": function if name is None else {"name": name, **function}, **more}
    return {"tool_calls": [entry if index is None else {"index": index, **entry}]}


def response(status: str, *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A whole answer of Responses."""
    usage = {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16}
    return {"id": "resp_1", "object": "response", "status": status, "output": items, "usage": usage, **more}


def item(tool: str, arguments: str, number: int = 0, **more: Any) -> dict[str, Any]:
    """A call of Responses."""
    head = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool}
    return {**head, "arguments": arguments, "status": "completed", **more}


def events(*parsed: Any, done: bool = True) -> bytes:
    """The bytes of a stream."""
    lines = [f"data: {json.dumps(each)}\n\n" for each in parsed]
    return "".join([*lines, "data: [DONE]\n\n"] if done else lines).encode()


A1, A2 = '{"a": 1}', '{"a":2}'
CUT = {"incomplete_details": {"reason": "max_output_tokens"}}
WHOLE: dict[str, Any] = {
    "both": whole({"content": "Let me see.", "tool_calls": [call("later", A1), call("pay", A2, 1)]}, "tool_calls"),
    "cut": whole({"content": None, "tool_calls": [call("apart", A1), call("save", '{"a":', 1)]}, "length"),
    "filtered": whole({"content": "No", "tool_calls": [call("apart", A1)]}, "content_filter"),
    "beside-stop": whole({"content": None, "tool_calls": [call("apart", A1)]}, "stop"),
    "odd-arguments": whole(
        {"tool_calls": [call("later", ""), call("save", {"a": 3}, 1), call("pay", '"{\\"a\\":4}"', 2)]}, "tool_use"
    ),
    "thinking": whole({"reasoning_content": "Hm.", "content": "42", "vendor": {"x": [1]}}, "stop"),
    "refusal": whole({"content": None, "refusal": "I cannot."}, "stop"),
    "error": {"error": {"message": "busy", "code": 503}},
}
STREAMS: dict[str, bytes] = {
    "two-calls": events(
        *pieces(
            {"role": "assistant", "content": None},
            part(0, "", name="later", id="call_0", type="function"),
            part(0, '{"a"'),
            part(0, ": 1}"),
            part(1, "", name="save", id="call_1", type="function"),
            part(1, '{"a":2'),
            part(1, "}"),
            finish="tool_calls",
        )
    ),
    "interleaved": events(
        *pieces(
            part(0, '{"a"', name="later", id="x"),
            part(1, '{"a":', name="pay", id="y"),
            part(0, ":1}"),
            part(1, "2}"),
            finish="tool_calls",
        )
    ),
    "without-index": events(
        *pieces(part(None, A1, name="later", id="x"), part(None, A2, name="save", id="y"), finish="tool_calls")
    ),
    "one-index": events(
        *pieces(part(0, A1, name="later", id="x"), part(0, A2, name="save", id="y"), finish="tool_calls")
    ),
    "cut": events(*pieces(part(0, A1, name="apart", id="x"), part(1, '{"a":', name="save", id="y"), finish="length")),
    "no-reason": events(*pieces(part(0, A1, name="apart", id="x"), finish=None)),
    "error-inside": events(*pieces({"content": "One "}, finish=None)[:1], {"error": {"message": "gone", "code": 500}}),
    "comments": b": wait\r\n\r\nevent: message\r\n"
    + events(*pieces({"role": "assistant", "content": "It is "}, {"content": "42 \u00e9."}, finish="stop")).replace(
        b"\n", b"\r\n"
    ),
}
RESPONSES: dict[str, Any] = {
    "both": response("completed", item("later", A1), item("pay", A2, 1)),
    "cut": response("incomplete", item("apart", A1), item("save", '{"a":', 1, status="incomplete"), **CUT),
    "failed": response("failed", error={"code": "server_error", "message": "gone"}),
    "mixed": response(
        "completed",
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        item("save", A1),
    ),
}
RESPONSE_STREAMS: dict[str, bytes] = {
    "calls": events(
        {"type": "response.created", "sequence_number": 0, "response": response("in_progress")},
        {
            "type": "response.output_item.added",
            "sequence_number": 1,
            "output_index": 0,
            "item": item("later", "", status="in_progress"),
        },
        {
            "type": "response.function_call_arguments.delta",
            "sequence_number": 2,
            "output_index": 0,
            "item_id": "fc_0",
            "delta": A1,
        },
        {"type": "response.output_item.done", "sequence_number": 3, "output_index": 0, "item": item("later", A1)},
        {"type": "response.completed", "sequence_number": 4, "response": response("completed", item("later", A1))},
        done=False,
    ),
    "output-left-out": events(
        {"type": "response.output_item.done", "output_index": 0, "item": item("save", A2)},
        {"type": "response.completed", "response": response("completed")},
        done=False,
    ),
    "incomplete": events(
        {"type": "response.output_item.done", "output_index": 0, "item": item("apart", A2)},
        {"type": "response.incomplete", "response": response("incomplete", item("apart", A2), **CUT)},
        done=False,
    ),
}


def written() -> list[Body]:
    """Those that no server was asked for."""
    return [
        *[Body(f"whole-{name}", "chat", False, json.dumps(body).encode()) for name, body in WHOLE.items()],
        *[Body(f"stream-{name}", "chat", True, data) for name, data in STREAMS.items()],
        *[Body(f"response-{name}", "responses", False, json.dumps(body).encode()) for name, body in RESPONSES.items()],
        *[Body(f"response-stream-{name}", "responses", True, data) for name, data in RESPONSE_STREAMS.items()],
    ]


BODIES: tuple[Body, ...] = (*written(), *recorded())
