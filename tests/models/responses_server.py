"""Bodies and streams of the Responses API, to be served by ``chat_server``, and Chat bodies put into their form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .chat_server import Reply

STATUSES: Mapping[str, tuple[str, str | None]] = {
    "stop": ("completed", None),
    "tool_calls": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
}
"""Finish reason of Chat Completions → status and reason of Responses."""


def said(text: str, **fields: Any) -> dict[str, Any]:
    """A message of one text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part], **fields}


def refused(text: str) -> dict[str, Any]:
    """A message of one refusal."""
    return said("") | {"content": [{"type": "refusal", "refusal": text}]}


def called(name: str, arguments: Mapping[str, Any] | str, call_id: str | None = "c1", **fields: Any) -> dict[str, Any]:
    """A function call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    item = {"type": "function_call", "id": f"fc_{call_id}", "name": name, "arguments": text, "status": "completed"}
    return item | ({} if call_id is None else {"call_id": call_id}) | fields


def thought(encrypted: str | None = "b2Jqb3Rh", *, summary: str = "", identifier: str = "rs_1") -> dict[str, Any]:
    """A reasoning item."""
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    return {"type": "reasoning", "id": identifier, "summary": parts, "encrypted_content": encrypted}


def response(*items: Any, status: str = "completed", reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """A response body."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m-2026",
        "status": status,
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": list(items),
        "parallel_tool_calls": True,
        "store": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 120,
        },
        **fields,
    }


def as_response(chat: Mapping[str, Any]) -> dict[str, Any]:
    """A Chat Completions body as Responses would have it."""
    choice, usage = chat["choices"][0], chat.get("usage") or {}
    message, finish = choice["message"], choice["finish_reason"]
    items = [said(message["content"])] if message.get("content") else []
    items += [refused(message["refusal"])] if message.get("refusal") else []
    for entry in message.get("tool_calls") or ():
        items.append(called(**entry["function"], call_id=entry.get("id")))
    status, reason = STATUSES[finish]
    counts = {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")}
    return response(*items, status=status, reason=reason, usage=counts)


def events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a streamed response, without the numbers; texts and arguments come in pieces of three."""
    begun = {**body, "output": [], "status": "in_progress", "usage": None, "error": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for at, item in enumerate(body["output"]):
        place = {"output_index": at, "item_id": item.get("id")}
        empty = {"content": []} if item["type"] == "message" else {}
        empty |= {"arguments": ""} if item["type"] == "function_call" else {}
        yield {"type": "response.output_item.added", "item": {**item, **empty, "status": "in_progress"}, **place}
        yield from _pieces(item, place)
        yield {"type": "response.output_item.done", "item": item, **place}
    yield {"type": f"response.{body['status']}", "response": body}


def _pieces(item: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    written = [("function_call_arguments", "arguments", item.get("arguments"), {})]
    for at, part in enumerate(item.get("content") or ()):
        field = "refusal" if part["type"] == "refusal" else "text"
        logs = {} if field == "refusal" else {"logprobs": []}
        written.append((part["type"], field, part[field], {"content_index": at, **logs}))
    for at, part in enumerate(item.get("summary") or ()):
        written.append(("reasoning_summary_text", "text", part["text"], {"summary_index": at}))
    for what, field, text, index in written:
        if text is None:
            continue
        for begin in range(0, len(text), 3):
            delta = text[begin : begin + 3]
            yield {"type": f"response.{what}.delta", "delta": delta, **place, **index}
        yield {"type": f"response.{what}.done", field: text, **place, **index}


def numbered(stream: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with their sequence numbers."""
    return [{**event, "sequence_number": number} for number, event in enumerate(stream)]


def streamed(body: Mapping[str, Any]) -> Reply:
    """A response as server-sent events."""
    return sent(numbered(events(body)))


def sent(stream: list[dict[str, Any]]) -> Reply:
    """Events as server-sent events."""
    data = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream)
    return Reply(body=data.encode(), content_type="text/event-stream")
