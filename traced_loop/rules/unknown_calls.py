"""Calls of a history of which nobody knows what came of them: what continues it must not make them again by itself."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.outcomes import UNKNOWN_OUTCOMES, Outcome


def _as_written(name: str, arguments: str) -> Hashable:
    return name, arguments


def unknown_calls(messages: Sequence[Any], same: Callable[[str, str], Hashable] = _as_written) -> list[tuple[str, str]]:
    """Name and arguments of each such call, as the model wrote them; of equal calls the last one that tells counts.

    That a call was not made, whatever kept it from it, says nothing of an earlier one; that it was done, or that it
    changed nothing, does.

    Args:
        messages: of the history.
        same: what is equal for two calls, by name and arguments, that are the same one.
    """
    asked: dict[str, tuple[str, str]] = {}
    unknown: dict[Hashable, tuple[str, str]] = {}
    for raw in messages:
        message = as_object(raw)
        if message is None:
            continue
        if message.get("role") == "assistant":
            asked = _asked(message)
        call = asked.get(as_text(message.get("tool_call_id")) or "") if message.get("role") == "tool" else None
        known = None if call is None else _is_known(as_text(message.get("content")) or "")
        if call is None or known is None:
            continue
        if known:
            unknown.pop(same(*call), None)
        else:
            unknown[same(*call)] = call
    return list(unknown.values())


def completed_calls(messages: Sequence[Any]) -> list[list[tuple[str, str]]]:
    """For each answer that has calls, name and arguments of those that were told to be done."""
    found: list[list[tuple[str, str]]] = []
    asked: dict[str, tuple[str, str]] = {}
    for raw in messages:
        message = as_object(raw) or {}
        if message.get("role") == "assistant":
            asked = _asked(message)
            found.append([])
        call = asked.get(as_text(message.get("tool_call_id")) or "") if message.get("role") == "tool" else None
        if call is not None and (as_text(message.get("content")) or "").startswith('{"status":"completed"'):
            found[-1].append(call)
    return found


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


def _is_known(content: str) -> bool | None:
    """Whether an answer says what came of its call (True), or that nobody knows (False); None where it says neither."""
    if not content.startswith("{"):
        return None
    try:
        told = as_object(json.loads(content)) or {}
    except (ValueError, RecursionError):
        return None
    status, kind = told.get("status"), told.get("type")
    if status == "completed" and "result" in told:
        return told.get("undone", True) is not None  # whether it was undone is told as null where nobody knows
    if status != "error" or not isinstance(kind, str):
        return None
    return False if kind in UNKNOWN_OUTCOMES else True if kind == Outcome.ERROR else None
