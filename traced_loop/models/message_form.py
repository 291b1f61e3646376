"""A history in the form that one provider takes: nothing is changed that it would take as it is."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import Message
from traced_loop.models.traits import ModelTraits

BRIDGE: Final[Mapping[str, str]] = {"role": "assistant", "content": "(no answer yet)"}
"""Sent between a tool's result and a user message where a provider takes no user there. Put into the tool's result
instead, a person's words would look like data."""

_STANDARD: Final = frozenset({"role", "content", "tool_calls", "name", "refusal"})
"""Fields of an assistant message that every provider knows. Another provider's own are refused by strict ones."""
_STANDARD_CALL: Final = frozenset({"id", "type", "function"})
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 9


def in_form(messages: Sequence[Message], traits: ModelTraits, *, foreign: bool = False) -> Sequence[Message]:
    """The history as it is sent; the same object where nothing differs.

    Args:
        messages: as they are stored.
        traits: what the provider refuses, and what it wants back.
        foreign: whether another provider wrote assistant messages in it: of those, only what every provider knows and
            what this one wants back is sent.
    """
    form = messages
    if traits.strip or foreign:
        form = [
            _fields(message, traits, foreign=foreign) if message.get("role") == "assistant" else message
            for message in form
        ]
    if traits.call_ids is not None:
        form = _with_ids(form, re.compile(traits.call_ids))
    return form if traits.user_after_tool else _bridged(form)


def short_id(identifier: str) -> str:
    """An id of nine letters and digits, the same each time: what every provider takes."""
    number = int.from_bytes(hashlib.sha256(identifier.encode(errors="replace")).digest()[:8], "big")
    return "".join(_ALPHABET[number // 62**place % 62] for place in range(_ID_LENGTH))


def _fields(message: Message, traits: ModelTraits, *, foreign: bool) -> Message:
    def wanted(name: str) -> bool:
        return name not in traits.strip and (not foreign or name in _STANDARD or name in traits.echo)

    kept = {name: value for name, value in message.items() if wanted(name)}
    calls = as_list(kept.get("tool_calls")) if foreign else None
    if calls:
        first, *others = (_call(call, traits) for call in calls)
        kept = {**traits.fill, **kept, "tool_calls": [{**traits.fill_call, **first}, *others]}
    if foreign and kept.get("refusal") is None:
        kept.pop("refusal", None)  # null from OpenAI, unknown to strict servers
    return kept


def _call(call: object, traits: ModelTraits) -> dict[str, Any]:
    fields = as_object(call) or {}
    return {name: value for name, value in fields.items() if name in _STANDARD_CALL or name in traits.echo}


def _with_ids(messages: Sequence[Message], taken: re.Pattern[str]) -> Sequence[Message]:
    """Ids that are not taken, replaced in the calls and in their results alike."""

    def usable(identifier: object) -> bool:
        text = as_text(identifier)
        return text is None or taken.fullmatch(text) is not None

    def changed(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {**fields, name: short_id(str(fields[name]))}

    form: list[Message] = []
    for message in messages:
        calls = [as_object(call) or {} for call in as_list(message.get("tool_calls")) or []]
        if not all(usable(call.get("id")) for call in calls):
            renamed = [dict(call) if usable(call.get("id")) else changed(call, "id") for call in calls]
            form.append({**message, "tool_calls": renamed})
        elif not usable(message.get("tool_call_id")):
            form.append(changed(message, "tool_call_id"))
        else:
            form.append(message)
    return form


def _bridged(messages: Sequence[Message]) -> list[Message]:
    form: list[Message] = []
    for message in messages:
        if message.get("role") == "user" and form and form[-1].get("role") == "tool":
            form.append(dict(BRIDGE))
        form.append(message)
    return form
