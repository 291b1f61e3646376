"""Messages in Chat Completions form as OpenTelemetry's GenAI message schema has them: a role, and parts.

Source of the shapes: ``gen-ai-input-messages.json`` and ``gen-ai-output-messages.json`` of the repository
``open-telemetry/semantic-conventions-genai``. What providers add or get wrong never raises: an unknown part becomes
a generic one. No body of a file is taken over, only its kind and size.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from traced_loop import names
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import response_reasoning
from traced_loop.telemetry.content.json_pruning import base64_body, base64_size, left_out

KEPT_HOME: Final = "[KEPT_HOME]"
"""Stands for arguments and results of a tool that keeps them home (``@tool(content=False)``)."""

_FINISH_REASONS: Final[Mapping[str, str]] = {
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
    "function_call": "tool_call",
    "end_turn": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "failed": "error",
}
"""The schema's word for providers' words; others are its words already, or stay as they are."""
_SCHEMA_TYPES: Final = frozenset(
    {"text", "reasoning", "tool_call", "tool_call_response", "blob", "file", "uri", "compaction"}
    | {"server_tool_call", "server_tool_call_response"}
)
_MODALITIES: Final = ("image", "audio", "video")

Part = dict[str, Any]


class MessageReader:
    """Reads the messages of one run in their order: whose result it is stands in the message before."""

    def __init__(self, kept_home: Collection[str] = ()) -> None:
        """Keep the arguments and results of these tools out."""
        self._kept_home = frozenset(kept_home)
        self._closed_ids: frozenset[str | None] = frozenset()

    def read(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """One message of the history."""
        role = as_text(message.get("role")) or "unknown"
        if role in {"tool", "function"}:
            return _named({"role": "tool", "parts": [self._response(message)]}, message)
        said = [*_reasoning(message), *_content_parts(message.get("content")), *_content_parts(message.get("refusal"))]
        parts = [*said, *self._calls(message)]
        return _named({"role": role, "parts": parts}, message)

    def read_answer(self, message: Mapping[str, Any], finish_reason: str | None) -> dict[str, Any]:
        """What the model answered, with why it ended."""
        reason = "error" if finish_reason is None else _FINISH_REASONS.get(finish_reason.lower(), finish_reason)
        if reason == "completed":  # Responses has one word for calls and for a text
            reason = "tool_call" if message.get("tool_calls") else "stop"
        return {**self.read({"role": "assistant", **message}), "finish_reason": reason}

    def _response(self, message: Mapping[str, Any]) -> Part:
        call_id = as_text(message.get("tool_call_id"))
        # Ids are paired within a step: providers use them again in a later one.
        closed = call_id in self._closed_ids or as_text(message.get("name")) in self._kept_home
        response = KEPT_HOME if closed else _response_of(message.get("content"))
        return _with_id({"type": "tool_call_response", "response": response}, call_id)

    def _calls(self, message: Mapping[str, Any]) -> list[Part]:
        entries = [as_object(entry) or {} for entry in as_list(message.get("tool_calls")) or ()]
        if message.get("function_call") is not None:
            entries.append({"function": message["function_call"]})
        parts: list[Part] = []
        closed: set[str | None] = set()
        for entry in entries:
            function = as_object(entry.get("function")) or as_object(entry.get("custom")) or {}
            name, call_id = as_text(function.get("name")) or names.UNKNOWN_TOOL, as_text(entry.get("id"))
            given = function.get("arguments", function.get("input"))
            if name in self._kept_home:
                given = KEPT_HOME
                closed.add(call_id)
            part: Part = {"type": "tool_call", "name": name, "arguments": parsed(given)}
            parts.append(_with_id(part, call_id))
        if entries:
            self._closed_ids = frozenset(closed)
        return parts


def text_message(role: str, text: str) -> dict[str, Any]:
    """A message of one text."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def definition_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A function definition in Chat Completions form as ``gen_ai.tool.definitions`` has it."""
    function = as_object(tool.get("function")) or {}
    found = {key: function[key] for key in ("description", "parameters") if function.get(key)}
    return {"type": "function", "name": as_text(function.get("name")) or names.UNKNOWN_TOOL, **found}


def parsed(text: object) -> Any:
    """The object or list that a JSON text holds; whatever else it is as it is."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _named(message: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    name = as_text(given.get("name"))
    return message if name is None else {**message, "name": name}


def _with_id(part: Part, call_id: str | None) -> Part:
    return part if call_id is None else {**part, "id": call_id}


def _reasoning(message: Mapping[str, Any]) -> list[Part]:
    """Reasoning beside the content: the field of DeepSeek and many servers, OpenRouter's, items of Responses."""
    said = as_text(message.get("reasoning_content")) or as_text(message.get("reasoning"))
    texts = [said] if said is not None else response_reasoning(message)
    return [{"type": "reasoning", "content": text} for text in texts]


def _content_parts(content: object) -> list[Part]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    items = as_list(content)
    return [_part(item) for item in ([content] if items is None else items)]


def _part(item: object) -> Part:
    """One part of a content list."""
    if isinstance(item, str):
        return {"type": "text", "content": item}
    fields = as_object(item)
    if fields is None:
        return {"type": "unknown", "content": item}
    kind = as_text(fields.get("type")) or "unknown"
    for key, type_ in (("text", "text"), ("refusal", "text"), ("thinking", "reasoning")):
        if kind in {key, f"output_{key}", f"input_{key}"} and isinstance(fields.get(key), str):
            return {"type": type_, "content": fields[key]}
    found = _media(kind, fields)
    if found is not None:
        return found
    rest = {key: value for key, value in fields.items() if key != "type"}
    return {"type": "unknown" if kind in _SCHEMA_TYPES else kind, "content": rest}


def _media(kind: str, fields: Mapping[str, Any]) -> Part | None:
    """An image, a recording or a file, without its body; None when it is none."""
    if kind in {"image_url", "input_image", "video_url"}:
        named = fields.get("image_url", fields.get("video_url"))
        address = as_text(named) or as_text((as_object(named) or {}).get("url"))
        return _address("video" if kind.startswith("video") else "image", address) if address else None
    if kind == "input_audio":
        audio = as_object(fields.get("input_audio")) or {}
        mime_type = f"audio/{as_text(audio.get('format')) or 'unknown'}"
        return _blob("audio", mime_type, base64_size(len(as_text(audio.get("data")) or "")))
    if kind in {"file", "input_file"}:
        file = as_object(fields.get("file")) or fields
        file_id, data = as_text(file.get("file_id")), as_text(file.get("file_data"))
        if file_id is not None:
            return {"type": "file", "modality": "document", "file_id": file_id}
        if data is not None:
            mime_type, size = base64_body(data) or ("application/octet-stream", base64_size(len(data)))
            return _blob(_modality(mime_type), mime_type, size)
    return None


def _address(modality: str, address: str) -> Part:
    body = base64_body(address)
    return {"type": "uri", "modality": modality, "uri": address} if body is None else _blob(modality, *body)


def _blob(modality: str, mime_type: str, size: int) -> Part:
    """A body that stays home: the schema wants its base64, which is empty here; the mark says what was there."""
    return {
        "type": "blob",
        "modality": modality,
        "mime_type": mime_type,
        "content": "",
        "size": size,
        "left_out": left_out(mime_type, size),
    }


def _modality(mime_type: str) -> str:
    kind = mime_type.partition("/")[0]
    return kind if kind in _MODALITIES else "document"


def _response_of(content: object) -> Any:
    """What a tool message says: JSON as what it means, parts as their text."""
    items = as_list(content)
    if items is None:
        return "" if content is None else parsed(content)
    parts = [_part(item) for item in items]
    texts = [part["content"] for part in parts if part["type"] == "text"]
    return parsed("".join(texts)) if len(texts) == len(parts) else parts
