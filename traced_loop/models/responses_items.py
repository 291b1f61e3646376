"""A history in Chat form as input items of the Responses API.

An answer of the same server goes back as the items that it sent, reasoning included, with what was repaired in their
calls; what else the message says counts more than they do. Any other message is written anew: texts, calls, results,
images and files have their items, and a message's ``name`` has none.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import RESPONSE_FIELD, Message
from traced_loop.models.responses_output import Output, read_output
from traced_loop.rules.answer_verdict import text_of
from traced_loop.rules.call_repair import arguments_text

Item = dict[str, Any]


def input_items(messages: Sequence[Message], server: str, *, kept: bool) -> list[Item]:
    """The history as items, in order.

    Args:
        messages: in Chat form.
        server: host of the server that is asked.
        kept: whether the server keeps answers; where it does not, it knows no reasoning that it sent without content.
    """
    writing = _Writing()
    for place, message in enumerate(messages):
        if message.get("role") != "assistant":
            writing.other(message)
            continue
        returned = sent_back(message, server)
        if returned is None:
            writing.assistant(message, place)
        else:
            writing.items += [item for item in returned.items if kept or not _is_hollow(item)]
    return writing.items


def last_kept(messages: Sequence[Message], server: str) -> tuple[str, int] | None:
    """The id of the latest answer that the server may keep, and the place of the first message after it.

    None where there is no such answer, or nothing to say after it. An answer whose call ids were repaired is none: the
    server knows the ids that it gave.
    """
    for place in range(len(messages) - 2, -1, -1):
        message = messages[place]
        identifier = as_text((as_object(message.get(RESPONSE_FIELD)) or {}).get("id"))
        if identifier is None or message.get("role") != "assistant":
            continue
        returned = sent_back(message, server)
        if returned is not None and not returned.ids_repaired:
            return identifier, place + 1
    return None


@frozen_value
class SentBack:
    """The items of an answer as they go back.

    Attributes:
        items: in order.
        ids_repaired: whether a call has another id than the server gave it, or was an echo and is left out.
    """

    items: tuple[Item, ...]
    ids_repaired: bool = False


def sent_back(message: Message, server: str) -> SentBack | None:
    """The items of an answer with the calls as the message has them.

    None where another server sent them, where one waits for a result that nobody gives, or where they no longer say
    what the message says.
    """
    held = as_object(message.get(RESPONSE_FIELD))
    if held is None or held.get("server") != server:
        return None
    output = read_output(held.get("output"))
    same_words = (output.text, output.refusal) == (text_of(message.get("content")) or None, _refusal(message))
    if output.unanswerable or not same_words:
        return None
    entries = [as_object(entry) or {} for entry in as_list(message.get("tool_calls")) or ()]
    return _with_calls(output, entries)


def _with_calls(output: Output, entries: list[Mapping[str, Any]]) -> SentBack | None:
    """The items with the ids and arguments of the entries, an echo of a call left out; None where they do not match."""
    items: list[Item | None] = list(output.items)
    left, seen = list(entries), list[object]()
    repaired = False
    for at in output.calls:
        item = output.items[at]
        given = (item.get("call_id"), item.get("name"), arguments_text(item.get("arguments")))
        if given[0] and given in seen:
            items[at], repaired = None, True
            continue
        seen.append(given)
        entry: Mapping[str, Any] = left.pop(0) if left else {}
        function = as_object(entry.get("function")) or {}
        call_id, arguments = as_text(entry.get("id")), function.get("arguments")
        if function.get("name") != given[1] or call_id is None:
            return None
        repaired = repaired or call_id != given[0]
        if (call_id, arguments) != (given[0], item.get("arguments")):
            items[at] = {**item, "call_id": call_id, "arguments": arguments}
    return None if left else SentBack(items=tuple(filter(None, items)), ids_repaired=repaired)


def _is_hollow(item: Item) -> bool:
    """Reasoning of which there is only a name: a server that does not keep it refuses the name."""
    return item.get("type") == "reasoning" and not (item.get("encrypted_content") or item.get("content"))


@dataclass(slots=True)
class _Writing:
    """Messages that no server of this kind sent, as items."""

    items: list[Item] = field(default_factory=list[Item])
    custom: set[str] = field(default_factory=set[str])
    old_form: str = ""

    def assistant(self, message: Message, place: int) -> None:
        """What a model said: its text, its refusal, its calls."""
        said = "".join(text for text in (text_of(message.get("content")), _refusal(message)) if text)
        if said:
            self.items.append({"type": "message", "role": "assistant", "content": said})
        self.custom = set()
        for raw in as_list(message.get("tool_calls")) or ():
            self._call(as_object(raw) or {})
        function = as_object(message.get("function_call"))
        if function is not None:  # the form before tools has no ids
            self.old_form = f"call_{place}"
            self._call({"id": self.old_form, "function": function})

    def other(self, message: Message) -> None:
        """A result, or what a user, a developer or the system says."""
        role, content = as_text(message.get("role")) or "user", message.get("content")
        if role in {"tool", "function"}:
            call_id = as_text(message.get("tool_call_id")) if role == "tool" else self.old_form
            kind = "custom_tool_call_output" if call_id in self.custom else "function_call_output"
            self.items.append({"type": kind, "call_id": call_id, "output": _content(content)})
        else:
            self.items.append({"type": "message", "role": role, "content": _content(content)})

    def _call(self, entry: Mapping[str, Any]) -> None:
        call_id, function, custom = entry.get("id"), as_object(entry.get("function")), as_object(entry.get("custom"))
        if custom is not None and function is None:
            self.custom.add(str(call_id))
            written = {"type": "custom_tool_call", "name": custom.get("name"), "input": custom.get("input")}
        else:
            function = function or {}
            written = {"type": "function_call", "name": function.get("name"), "arguments": function.get("arguments")}
        self.items.append({**written, "call_id": call_id})


def _refusal(message: Message) -> str | None:
    return as_text(message.get("refusal"))


def _content(content: object) -> Any:
    """A text as it is, parts as their items, anything else as JSON text."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = as_list(content)
    if parts is None:
        return json.dumps(content, ensure_ascii=False)
    return [_part(part) for part in parts]


def _part(raw: object) -> Any:
    if isinstance(raw, str):
        return {"type": "input_text", "text": raw}
    part = as_object(raw) or {}
    kind = as_text(part.get("type"))
    if kind in {"text", "output_text"}:
        return {**part, "type": "input_text"}
    named, file = part.get("image_url"), as_object(part.get("file"))
    if kind == "image_url":
        image = as_object(named) or {"url": named}
        rest = {key: value for key, value in part.items() if key != "image_url"}
        return {
            **rest,
            "type": "input_image",
            "image_url": image.get("url"),
            "detail": image.get("detail") or "auto",
        }
    if kind == "file" and file is not None:
        rest = {key: value for key, value in part.items() if key != "file"}
        return {**rest, **file, "type": "input_file"}
    return raw
