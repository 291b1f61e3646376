"""Wrappings around what a tool was given and gave: LangChain's messages, and the arguments of decorated functions."""

from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object, as_text
from traced_loop.read.dialects.message_json import json_value, shown

_MAX_WRAPPINGS: Final = 4
_WRAPPED_INPUTS: Final = ('{"input_str":', '{"args":')


@frozen_value
class ToolMessage:
    """What a tool gave, with the id of the call that it answers; ``failed`` where the message says so."""

    text: str | None
    call_id: str
    failed: bool


def tool_message(value: object) -> ToolMessage | None:
    """The message of a tool out of its wrappings (``output``, ``kwargs``, ``data``); None where there is none."""
    if not isinstance(value, str) or "tool_call_id" not in value:
        return None
    found: object = json_value(value)
    for _ in range(_MAX_WRAPPINGS):
        fields = as_object(found)
        if fields is None:
            return None
        if "tool_call_id" in fields:
            call_id = as_text(fields.get("tool_call_id")) or ""
            failed = fields.get("status") == "error"
            return ToolMessage(text=shown(fields.get("content")), call_id=call_id, failed=failed)
        found = next((fields[key] for key in ("output", "kwargs", "data") if as_object(fields.get(key))), None)
    return None


def tool_output(value: str | None) -> str | None:
    """What a tool gave, out of an object with nothing else in it; other text as it is."""
    if value is None or not value.startswith('{"output":'):
        return value
    fields = as_object(json_value(value)) or {}
    return shown(fields["output"]) if set(fields) == {"output"} else value


def tool_input(value: str | None) -> str | None:
    """What a tool was given out of the record of a callback or of a decorated function; other text as it is."""
    if value is None or not value.startswith(_WRAPPED_INPUTS):
        return value
    fields = as_object(json_value(value)) or {}
    if "kwargs" in fields and not fields.get("args"):
        return shown(fields["kwargs"])
    return shown(fields.get("inputs")) or shown(fields.get("input_str")) or value
