"""Calls of a history of which nobody knows what came of them: what continues it must not make them again by itself."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.outcomes import Outcome

_UNKNOWN: Final = frozenset({Outcome.UNKNOWN, Outcome.UNKNOWN_AFTER_CRASH})


def unknown_calls(messages: Sequence[Any]) -> list[tuple[str, str]]:
    """Name and arguments of each such call, as the model wrote them; of equal calls the last answer counts."""
    asked: dict[str, tuple[str, str]] = {}
    unknown: dict[tuple[str, str], None] = {}
    for raw in messages:
        message = as_object(raw)
        if message is None:
            continue
        if message.get("role") == "assistant":
            asked = _asked(message)
        call = asked.get(as_text(message.get("tool_call_id")) or "") if message.get("role") == "tool" else None
        if call is None:
            continue
        if _is_unknown(as_text(message.get("content")) or ""):
            unknown[call] = None
        else:
            unknown.pop(call, None)
    return list(unknown)


def _asked(message: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The calls of one answer, by id: servers use an id again in a later one."""
    found: dict[str, tuple[str, str]] = {}
    for raw in as_list(message.get("tool_calls")) or ():
        entry = as_object(raw) or {}
        function = as_object(entry.get("function")) or {}
        identifier, name = as_text(entry.get("id")), as_text(function.get("name"))
        if identifier is not None and name is not None:
            found[identifier] = name, as_text(function.get("arguments")) or "{}"
    return found


def _is_unknown(content: str) -> bool:
    if '"unknown' not in content:
        return False
    try:
        told = as_object(json.loads(content)) or {}
    except (ValueError, RecursionError):
        return False
    return told.get("status") == "error" and told.get("type") in _UNKNOWN
