"""The rules of the GenAI message schema that a receiver relies on, written down apart from what makes the messages.

Source: ``gen-ai-input-messages.json`` and ``gen-ai-output-messages.json`` of the repository
``open-telemetry/semantic-conventions-genai``.
"""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "text": {"content": str},
    "reasoning": {"content": str},
    "tool_call": {"name": str},
    "tool_call_response": {"response": object},
    "blob": {"modality": str, "content": str},
    "file": {"modality": str, "file_id": str},
    "uri": {"modality": str, "uri": str},
}
"""What a part of each type must have; a part of any other type is a generic one."""
FORBIDDEN = {"server_tool_call", "server_tool_call_response", "compaction"}
"""Types of the schema that nothing here may claim to be."""


def problems(messages: Any, *, output: bool = False) -> list[str]:
    """What a strict reader would refuse; empty for none."""
    if not isinstance(messages, list):
        return ["no list"]
    found: list[str] = []
    for message in messages:
        wrong = not isinstance(message, dict) or not isinstance(message.get("role"), str)
        if wrong or not isinstance(message.get("parts"), list):
            found.append(f"no message: {message}")
            continue
        if not isinstance(message.get("name", ""), str):
            found.append(f"a name that is no text: {message['name']}")
        if output and not isinstance(message.get("finish_reason"), str):
            found.append("an output message without a finish reason")
        found += [problem for part in message["parts"] for problem in part_problems(part)]
    return found


def part_problems(part: Any) -> list[str]:
    """The same of one part."""
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return [f"no part: {part}"]
    if part["type"] in FORBIDDEN:
        return [f"a type that is somebody else's: {part}"]
    wanted = FIELDS.get(part["type"], {})
    return [f"{part['type']}.{key}" for key, kind in wanted.items() if not isinstance(part.get(key, missing), kind)] + [
        f"{part['type']}.{key} is missing" for key in wanted if key not in part
    ]


class _Missing:
    """Stands for no value at all; of no type that a field may have but ``object``."""


missing = _Missing()
