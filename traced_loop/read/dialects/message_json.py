"""Messages as JSON: the GenAI schema (``parts``) and OpenAI's (``content``, ``tool_calls``), one reader for both.

They come as JSON text, cut text or lists; what is no message is left out.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.read.span_facts import AskedCall, SaidMessage

HIDDEN: Final = frozenset({"__REDACTED__", "<redacted>", "[REDACTED]", "REDACTED", "[Scrubbed]"})
"""What instrumentations write where content is switched off: all such values are equal and say nothing."""
_TEXT_KEYS: Final = ("content", "text")
_CALL_PARTS: Final = frozenset({"tool_call", "function_call", "tool_use", "tool-call"})
_RESULT_PARTS: Final = frozenset({"tool_call_response", "function_call_output", "tool_result", "tool-result"})
_RESULT_KEYS: Final = ("response", "result", "content", "output")
_IDS: Final = ("id", "call_id", "toolUseId", "toolCallId")
_RESULT_IDS: Final = ("id", "tool_call_id", "tool_use_id", "call_id", "toolUseId", "toolCallId")
_BEDROCK: Final = {"toolUse": "tool_use", "toolResult": "tool_result"}
"""Parts as Bedrock has them, each in a field of its kind's name."""
_PARTS: Final = frozenset({*_BEDROCK, "text", "type", "reasoningContent", "image", "document", "cachePoint"})
"""A field of this name is in every part of a message."""
_TYPES: Final = frozenset({"human", "ai", "system", "tool"})
_ROLES: Final = {"human": "user", "ai": "assistant", "function": "tool", "model": "assistant"}


def json_value(value: object) -> object:
    """The value behind JSON text; other values as they are, text that is no JSON as None."""
    if not isinstance(value, str):
        return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    try:
        parsed: object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return parsed


def shown(value: object) -> str | None:
    """The text of a value as recorded; None where it is not there or hidden."""
    if value is None or (isinstance(value, str) and value in HIDDEN):
        return None
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=list)
    except (TypeError, ValueError, RecursionError):
        return None


def messages(value: Any, role: str = "user") -> tuple[SaidMessage, ...] | None:
    """The messages of a list, or of its JSON text; None where that is neither.

    Args:
        value: as recorded; one message by itself is taken as a list of it.
        role: of messages that do not say.
    """
    entries = _entries(json_value(value))
    if entries is None:
        return None
    fields = [found for entry in entries if (found := as_object(entry)) is not None]
    return tuple(message(found, role) for found in fields)


def _entries(parsed: object) -> list[Any] | None:
    """The messages of a list, one by itself, or the first batch of LangChain's ``messages`` or ``generations``."""
    fields = as_object(parsed)
    if fields is None:
        return as_list(parsed)
    batches = next((found for key in ("messages", "generations") if (found := as_list(fields.get(key)))), None)
    if batches is None:
        return [parsed]
    first = as_list(batches[0])
    return batches if first is None else first


def _unwrapped(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message out of LangChain's serialisations: ``message``, ``kwargs`` and ``data``; a type stands for its role."""
    for key in ("message", "kwargs", "data"):
        inner = as_object(fields.get(key))
        if inner is not None and ("content" in inner or "kwargs" in inner):
            fields = inner
    kind = as_text(fields.get("type"))
    return {**fields, "role": kind} if kind in _TYPES and "role" not in fields else fields


def message(fields: Mapping[str, Any], role: str = "user") -> SaidMessage:
    """One message."""
    reading = _Reading()
    fields = _unwrapped(fields)
    named = as_text(fields.get("role")) or role
    call_id = as_text(fields.get("tool_call_id")) or as_text(fields.get("id")) or ""
    parts = as_list(json_value(fields["parts"])) if "parts" in fields else as_list(fields.get("content"))
    if parts is not None:
        for part in parts:
            reading.part(part)
    elif named == "tool":
        reading.results.append((call_id, plain_result(fields.get("content"))))
    else:
        reading.say(fields.get("content"))
    if named == "tool" and parts is not None and not reading.results:
        reading.results.append((call_id, "".join(reading.texts) or None))
        reading.texts.clear()
    for call in as_list(json_value(fields.get("tool_calls"))) or ():
        reading.call(call)
    return SaidMessage(
        role=_ROLES.get(named, named),
        text="".join(reading.texts) or None,
        calls=tuple(reading.calls),
        results=tuple(reading.results),
    )


def finish_reasons(value: Any) -> tuple[str, ...]:
    """The finish reasons that messages name themselves."""
    entries = [as_object(entry) or {} for entry in _entries(json_value(value)) or ()]
    named = [as_text((as_object(entry.get("generation_info")) or entry).get("finish_reason")) for entry in entries]
    return tuple(reason for reason in named if reason is not None)


class _Reading:
    """What one message holds, as its parts are read."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: list[AskedCall] = []
        self.results: list[tuple[str, str | None]] = []

    def say(self, content: object) -> None:
        """Text, unless it is hidden."""
        if isinstance(content, str) and content not in HIDDEN:
            self.texts.append(content)

    def part(self, raw: object) -> None:
        """One part of a message; a text by itself is one, too."""
        fields = as_object(raw)
        if fields is None:
            self.say(raw)
            return
        wrapped = next((key for key in _BEDROCK if as_object(fields.get(key)) is not None), None)
        if wrapped is not None:
            fields = {**fields[wrapped], "type": _BEDROCK[wrapped]}
        kind = fields.get("type")
        if kind in _CALL_PARTS:
            self.call(fields)
        elif kind in _RESULT_PARTS:
            given = next((fields[key] for key in _RESULT_KEYS if key in fields), None)
            self.results.append((_first_text(fields, _RESULT_IDS), plain_result(given)))
        elif kind == "text" or kind is None:
            self.say(next((fields[key] for key in _TEXT_KEYS if key in fields), None))

    def call(self, raw: object) -> None:
        """A call, where it is one."""
        found = called(as_object(raw) or {})
        if found is not None:
            self.calls.append(found)


def called(fields: Mapping[str, Any]) -> AskedCall | None:
    """A call in any form: with its name beside its id, or inside of ``function``; None where neither is there."""
    function = as_object(fields.get("function")) or fields
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    name, call_id = _first_text(function, ("name", "toolName")), _first_text(fields, _IDS)
    return AskedCall(call_id=call_id, tool=name, arguments=shown(arguments)) if name or call_id else None


def plain_result(content: object) -> str | None:
    """A result's text: out of the parts that it is made of, as values or as their JSON, else as JSON."""
    parts = parts_of(content)
    if parts is not None:
        texts = [(as_object(part) or {}).get("text") for part in parts]
        if texts and all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    typed = as_object(content)
    if typed is not None and set(typed) == {"type", "value"}:
        content = typed["value"]
    return shown(content)


def parts_of(content: object) -> list[Any] | None:
    """The parts of a message, as values or as their JSON; None where it is anything else, another list included."""
    if isinstance(content, str) and not content.startswith("[{"):
        return None
    parts = as_list(json_value(content))
    if not parts or not all(_PARTS.intersection(as_object(part) or ()) for part in parts):
        return None
    return parts


def _first_text(fields: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((found for key in keys if (found := as_text(fields.get(key)))), "")
