"""Whether a history can be sent to a strict provider: every call answered once, in order, before anything else."""

from collections.abc import Mapping, Sequence
from typing import Any

from traced_loop.json_shapes import as_list, as_object, as_text

_CARRYING = ("content", "tool_calls", "function_call", "refusal", "audio")
"""Fields of which an assistant message must hold one."""
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def pairing_problems(messages: Sequence[Any]) -> list[str]:
    """What a strict provider would refuse, one sentence each; empty for a replayable history."""
    problems: list[str] = []
    waiting: list[str] = []
    for position, raw in enumerate(messages):
        message = as_object(raw)
        if message is None or as_text(message.get("role")) not in _ROLES:
            problems.append(f"messages[{position}] is no message with a role")
            continue
        if message["role"] == "tool":
            identifier = as_text(message.get("tool_call_id"))
            if waiting and identifier == waiting[0]:
                waiting.pop(0)
            else:
                expected = f"expected {waiting[0]!r}" if waiting else "no call waits for one"
                problems.append(f"messages[{position}] answers call {identifier!r}, {expected}")
            continue
        problems.extend(f"call {identifier!r} has no result before messages[{position}]" for identifier in waiting)
        waiting = _call_ids(message, position, problems) if message["role"] == "assistant" else []
    problems.extend(f"call {identifier!r} has no result" for identifier in waiting)
    return problems


def says_something(message: Mapping[str, Any]) -> bool:
    """Whether an assistant message holds anything that a strict provider takes back; the others it refuses."""
    return any(message.get(field) for field in _CARRYING)


def _call_ids(message: Any, position: int, problems: list[str]) -> list[str]:
    entries = as_list(message.get("tool_calls"))
    if entries is None:
        return []
    identifiers = [as_text((as_object(entry) or {}).get("id")) for entry in entries]
    found = [identifier for identifier in identifiers if identifier is not None]
    if not entries or len(found) != len(entries):
        problems.append(f"messages[{position}] has an empty list of calls or a call without an id")
    if len(set(found)) != len(found):
        problems.append(f"messages[{position}] uses one call id twice")
    return found
