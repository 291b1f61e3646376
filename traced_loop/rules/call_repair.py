"""The calls out of an assistant message, and the message as it may be stored and sent back.

The message stays whole, unknown fields included. Repaired, and marked: missing, empty, duplicate or unusable call ids,
echoes of a call, arguments that are no text, content that is neither text nor a list, text that is no Unicode, numbers
that are no JSON, an empty list of calls. Nothing else is touched.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from traced_loop.closed_words import Anomaly
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.late_pattern import late_pattern
from traced_loop.messages import Message, ToolCall
from traced_loop.redaction import redact_text
from traced_loop.telemetry.attributes import valid_text

TOOL_NAME: Final = late_pattern(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""
_SURROGATE: Final = late_pattern("[\ud800-\udfff]")
MAX_ID_CHARACTERS: Final = 128
"""Longer call ids are replaced: OpenAI takes 40 characters, and spans and stores must hold an id whole."""


@frozen_value
class RepairedMessage:
    """An assistant message and the calls in it; ``message["tool_calls"][n]`` is the n-th call.

    Attributes:
        message: as it may be stored.
        calls: in order; empty when there are none.
        anomalies: every repair, once each.
        malformed: whether a call was none that can be run as it stands: nothing may run.
    """

    message: Message
    calls: tuple[ToolCall, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    malformed: bool = False


def repair(message: Message, new_id: Callable[[], str]) -> RepairedMessage:
    """Read the calls of a message.

    Args:
        message: as the provider sent it; it is not changed.
        new_id: gives ids for calls that have none; must match ``[A-Za-z0-9]{9}``, which every provider takes.
    """
    found: list[Anomaly] = []
    whole = _with_content(_as_unicode(message, found), found)
    entries = as_list(whole.get("tool_calls"))
    if entries is None and whole.get("tool_calls") is not None:
        return _malformed(whole, found)
    if not entries and whole.get("function_call"):
        return _malformed(whole, found, Anomaly.CALL_DEPRECATED)
    if not entries:
        # Strict providers refuse an empty list of calls in a history.
        return RepairedMessage(message={k: v for k, v in whole.items() if k != "tool_calls"}, anomalies=tuple(found))
    reading = _Reading(new_id)
    for entry, sent in zip(entries, as_list(message.get("tool_calls")) or (), strict=True):
        if not reading.take(entry, _arguments_of(sent)):
            return _malformed(whole, found)
    found += [anomaly for call in reading.calls for anomaly in call.anomalies] + reading.echoes
    return RepairedMessage(
        message={**whole, "tool_calls": reading.entries},
        calls=tuple(reading.calls),
        anomalies=tuple(dict.fromkeys(found)),
    )


@dataclass(slots=True)
class _Reading:
    """The calls of one message, entry by entry."""

    new_id: Callable[[], str]
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    echoes: list[Anomaly] = field(default_factory=list[Anomaly])
    seen: dict[str, set[tuple[str, str]]] = field(default_factory=dict[str, set[tuple[str, str]]])

    def take(self, raw: object, sent: object) -> bool:
        """Read one entry, whose arguments were ``sent`` so; False when it is no function call.

        What is made of them elsewhere for the sake of the message is not what the model asks for: a NaN is no null, and
        half of a character is not the sign that stands for one.
        """
        entry = as_object(raw)
        function = as_object(entry.get("function")) if entry else None
        if entry is None or function is None or as_text(function.get("name")) is None:
            return False
        anomalies: list[Anomaly] = []
        arguments = _with_escapes(arguments_text(sent))
        if not isinstance(sent, str):
            anomalies.append(Anomaly.ARGUMENTS_NOT_TEXT)
        name, given = str(function["name"]), as_text(entry.get("id"))
        if not TOOL_NAME.fullmatch(name):
            anomalies.append(Anomaly.NAME_NOT_VALID)
        if given and (name, arguments) in self.seen.get(given, ()):
            self.echoes.append(Anomaly.CALL_ECHO)
            return True
        if given is not None and not _is_usable(given):
            given = None
        identifier = self._unique(given, anomalies)
        self.seen.setdefault(given or identifier, set()).add((name, arguments))
        self.entries.append(
            {**entry, "id": identifier, "type": "function", "function": {**function, "arguments": arguments}}
        )
        index = len(self.calls)
        self.calls.append(
            ToolCall(id=identifier, index=index, name=name, arguments=arguments, anomalies=tuple(anomalies))
        )
        return True

    def _unique(self, given: str | None, anomalies: list[Anomaly]) -> str:
        if given is None:
            anomalies.append(Anomaly.ID_SYNTHESIZED)
        elif given in self.seen:
            anomalies.append(Anomaly.ID_DUPLICATE)
        else:
            return given
        return self.new_id()


def _with_escapes(arguments: str) -> str:
    """Unpaired surrogates as their escapes, which say the same, can be written, and are refused by the validator."""
    return arguments if arguments.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", arguments)


def _arguments_of(entry: object) -> object:
    return (as_object((as_object(entry) or {}).get("function")) or {}).get("arguments")


def _is_usable(identifier: str) -> bool:
    """Whether an id can stand on a span as it is: what would be cut or masked there would be another call's.

    Spans name the calls of an answer in one text, with commas between them.
    """
    plain = len(identifier) <= MAX_ID_CHARACTERS and identifier.isprintable() and "," not in identifier
    return plain and redact_text(identifier) == identifier


def arguments_text(raw: object) -> str:
    """The arguments of a call as text: as they are, as JSON where they are another value, blank for none."""
    if isinstance(raw, str):
        return raw
    return "" if raw is None else json.dumps(raw, separators=(",", ":"), ensure_ascii=False)


def with_arguments(message: Message, texts: list[str]) -> Message:
    """The message with the n-th call's arguments replaced by the n-th text; itself when nothing differs."""
    entries: list[dict[str, Any]] = message["tool_calls"]
    if all(entry["function"]["arguments"] == text for entry, text in zip(entries, texts, strict=True)):
        return message
    changed = [
        {**entry, "function": {**entry["function"], "arguments": text}}
        for entry, text in zip(entries, texts, strict=True)
    ]
    return {**message, "tool_calls": changed}


def _malformed(message: Message, found: list[Anomaly], why: Anomaly = Anomaly.MALFORMED_CALL) -> RepairedMessage:
    without = {k: v for k, v in message.items() if k not in {"tool_calls", "function_call"}}
    return RepairedMessage(message=without, anomalies=(*found, why), malformed=True)


def _with_content(message: Message, found: list[Anomaly]) -> Message:
    """The message with content that servers take: text, parts, or null."""
    content = message.get("content")
    if content is None or isinstance(content, (str, list)):
        return message
    found.append(Anomaly.CONTENT_NOT_TEXT)
    return {**message, "content": None}


def _as_unicode(message: Message, found: list[Anomaly]) -> Message:
    """The message as JSON that every server takes: no unpaired surrogates, no NaN."""
    try:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:  # UnicodeEncodeError is one
        text = isinstance(error, UnicodeEncodeError)
        found.append(Anomaly.TEXT_NOT_UNICODE if text else Anomaly.NUMBER_NOT_JSON)
        repaired: Message = _replaced(message)
        return repaired
    return message


def _replaced(value: Any) -> Any:
    fields, items = as_object(value), as_list(value)
    if fields is not None:
        return {valid_text(key): _replaced(item) for key, item in fields.items()}
    if items is not None:
        return [_replaced(item) for item in items]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return valid_text(value) if isinstance(value, str) else value
