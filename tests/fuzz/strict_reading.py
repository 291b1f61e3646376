"""Which calls an answer asks for, read once more and apart from the loop: only what is whole, plain and agrees.

A superset is what is given where two strict readings are left: a call that the loop runs must be in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from ..promises.answers import TOOLS
from .bodies import Api

CALL_REASONS = {"tool_calls", "tool_call", "function_call", "tool_use", "completed"}
Asked = Counter[tuple[str, int]]
"""Tool and argument, and how often."""


def asked(api: Api, data: bytes, *, streamed: bool) -> Asked:
    """The calls that may run from these bytes, if they come under a status of success."""
    body = _parsed(data, errors="replace")
    if isinstance(body, dict):
        return _of_chat(body) if api == "chat" else _of_response(body)
    if not streamed:
        return Asked()
    read = _events(data)
    readable = read[: read.index(None)] if None in read else read  # whoever stops at what is no JSON reads no further
    find = _of_pieces if api == "chat" else _of_events
    return find(read) | find(readable)


def _parsed(data: bytes, errors: str = "surrogatepass") -> Any:
    try:
        return json.loads(data.decode(errors=errors).removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # UnicodeDecodeError is one
        return None


def _events(data: bytes) -> list[Any]:
    """The events up to the one that says that no more come; what is no JSON is None."""
    found: list[Any] = []
    for block in re.split(rb"(?:\r\n|\n|\r){2}", data.removeprefix(b"\xef\xbb\xbf")):
        lines = [line.partition(b":") for line in re.split(rb"\r\n|\n|\r", block)]
        said = b"\n".join(value.removeprefix(b" ") for field, _, value in lines if field == b"data")
        if said.startswith(b"[DONE]"):
            break
        if said.strip():
            found.append(_parsed(said))
    return found


def _right(name: Any, given: Any) -> tuple[str, int] | None:
    """Tool and argument, if it is a call of one of the tools as their schemas want it."""
    if name not in TOOLS:
        return None
    for _ in range(2):  # one layer of JSON too many is taken off
        if isinstance(given, str) and given.strip():
            given = _arguments(given)
    if given is None or (isinstance(given, str) and not given.strip()):
        given = {}
    if not isinstance(given, dict) or not {*given} <= {"a"}:
        return None
    a = given.get("a", 0 if name == "later" else None)
    return (name, a) if type(a) is int else None


def _arguments(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("one key twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return False


def _counted(calls: list[tuple[Any, Any]]) -> Asked:
    return Asked(right for name, given in calls if (right := _right(name, given)) is not None)


def _entry(raw: Any) -> tuple[Any, Any]:
    function = raw.get("function") if isinstance(raw, dict) else None
    return (function.get("name"), function.get("arguments")) if isinstance(function, dict) else (None, None)


def _of_chat(body: dict[str, Any]) -> Asked:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if body.get("error") or not isinstance(first, dict) or first.get("error"):
        return Asked()
    message, finish = first.get("message"), first.get("finish_reason")
    entries = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(finish, str) or finish.lower() not in CALL_REASONS or not isinstance(entries, list):
        return Asked()
    return _counted([_entry(entry) for entry in entries])


def _of_response(body: dict[str, Any], items: list[Any] | None = None) -> Asked:
    status = body.get("status")
    if body.get("error") or not isinstance(status, str) or status.lower() not in CALL_REASONS:
        return Asked()
    output = items if items is not None else body.get("output")
    calls = [each for each in output or () if isinstance(each, dict)] if isinstance(output, list) else []
    return _counted(
        [(each.get("name"), each.get("arguments")) for each in calls if each.get("type") == "function_call"]
    )


def _of_pieces(read: list[Any]) -> Asked:
    """Pieces of one index are one call; a new id, or a name after arguments, begins another at the same index.

    A piece without index and id belongs to the last call.
    """
    choices = [
        choice
        for event in read
        if isinstance(event, dict)
        for choice in (event.get("choices") if isinstance(event.get("choices"), list) else ())
        if isinstance(choice, dict)
    ]
    said = [choice.get("finish_reason") for choice in choices]
    reasons = {reason.lower() for reason in said if isinstance(reason, str) and reason}
    if not reasons or not reasons <= CALL_REASONS or any(isinstance(e, dict) and e.get("error") for e in read):
        return Asked()
    calls: list[dict[str, Any]] = []
    current: dict[Any, dict[str, Any]] = {}
    for choice in choices:
        delta = choice.get("delta")
        message = choice.get("message")
        if isinstance(message, dict) and isinstance(message.get("tool_calls"), list):
            calls += [{"name": name, "text": given} for name, given in map(_entry, message["tool_calls"])]
        entries = delta.get("tool_calls") if isinstance(delta, dict) else None
        for raw in entries if isinstance(entries, list) else ():
            _add(raw, calls, current)
    return _counted([(each["name"], each["text"]) for each in calls])


def _add(raw: Any, calls: list[dict[str, Any]], current: dict[Any, dict[str, Any]]) -> None:
    if not isinstance(raw, dict):
        return
    name, given = _entry(raw)
    index, identifier = raw.get("index"), raw.get("id")
    if type(index) is not int:
        index = None
    if index is None and isinstance(identifier, str) and identifier:
        known = next((each for each in calls if each["id"] == identifier), None)
        index = known["index"] if known is not None and known["index"] is not None else index
    elif index is None and calls and not name:
        index = calls[-1]["index"]
    mine = current.get(index)
    new_id = mine is not None and bool(identifier) and bool(mine["id"]) and identifier != mine["id"]
    new_name = (
        mine is not None
        and bool(name)
        and bool(mine["name"])
        and bool(mine["text"])
        and _right("later", mine["text"]) is not None
    )
    if mine is None or new_id or new_name:
        mine = current[index] = {"index": index, "id": identifier, "name": None, "text": None}
        calls.append(mine)
    mine["id"] = mine["id"] or identifier
    if isinstance(name, str) and name and mine["name"] != name:
        mine["name"] = (mine["name"] or "") + name
    if isinstance(given, str):
        mine["text"] = mine["text"] + given if isinstance(mine["text"], str) else given
    elif given is not None:
        mine["text"] = given


def _of_events(read: list[Any]) -> Asked:
    """The event that ends the response holds what counts; where it holds no output, the items that were done do."""
    items: dict[Any, Any] = {}
    for event in read:
        if not isinstance(event, dict):
            continue
        kind = str(event.get("type")).removeprefix("response.")
        if kind == "error" or (event.get("error") and not event.get("type")):
            return Asked()
        if kind == "output_item.done" and isinstance(event.get("item"), dict):
            items[str(event.get("output_index"))] = event["item"]
        if kind in {"completed", "incomplete", "failed", "cancelled"}:
            given = event.get("response")
            body = {"status": kind, **(given if isinstance(given, dict) else {})}
            if kind != "completed":
                return Asked()
            return _of_response(body, None if body.get("output") not in (None, []) else [*items.values()])
    return Asked()
