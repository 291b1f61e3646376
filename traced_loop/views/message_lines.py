"""What the model saw and said: each message with its role, each call with its result beside it.

Results are joined by call id to the calls of the assistant message before them: servers use ids again later.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import count_text
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import RESPONSE_FIELD, Message, response_reasoning
from traced_loop.views.lines import BAD, ODD, QUIET, packed, word
from traced_loop.views.visible import cut

SHOWN_CHARACTERS: Final = 400
"""Characters of one content, unless the whole is asked for."""
_KNOWN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", RESPONSE_FIELD})
_INDENT: Final = 4

Results = Mapping[int, Mapping[str, list[int]]]
"""Position of an assistant message → call id → positions of the results."""


def message_lines(stored: Sequence[Message], *, width: int | None = None, full: bool = False) -> list[Text]:
    """The transcript of a run.

    Args:
        stored: as it was recorded; entries of any shape.
        width: cells of a line, or None for lines as long as the content's.
        full: cut nothing.
    """
    view = _View(stored, width, None if full else SHOWN_CHARACTERS)
    return list(view.lines()) if stored else [word("no messages are stored for this run")]


class _View:
    def __init__(self, stored: Sequence[Message], width: int | None, limit: int | None) -> None:
        self._stored = stored
        self._width = width
        self._limit = limit
        self._results = _results(stored)
        self._joined = {n for calls in self._results.values() for found in calls.values() for n in found}

    def lines(self) -> Iterator[Text]:
        for n, message in enumerate(self._stored):
            if n in self._joined:
                continue  # stands beside its call
            parts = as_object(message)
            if parts is None:
                yield self._head(n, "not a message", BAD)
                yield from self._content(str(message))
                continue
            yield from self._message(n, parts)

    def _message(self, n: int, message: Mapping[str, Any]) -> Iterator[Text]:
        role = as_text(message.get("role")) or "no role"
        if role == "tool":
            yield self._head(
                n, f"tool, answers {message.get('tool_call_id')!s}, which nothing before it asked for", BAD
            )
        else:
            yield self._head(n, role)
        for text in _texts(message.get("content")):
            yield from self._content(text)
        for call in as_list(message.get("tool_calls")) or []:
            yield from self._call(n, as_object(call) or {})
        yield from self._items(message)
        for key in message:
            if key not in _KNOWN and message[key] not in (None, "", [], {}):
                yield from self._other(key, message[key])

    def _head(self, n: int, text: str, style: str = "bold") -> Text:
        return word(f"[{n + 1}] {text}", style)

    def _call(self, n: int, call: Mapping[str, Any]) -> Iterator[Text]:
        function = as_object(call.get("function")) or {}
        call_id = as_text(call.get("id")) or "no id"
        arguments = function.get("arguments")
        said = arguments if isinstance(arguments, str) else _compact(arguments)
        head = Text(" " * _INDENT).append_text(word(f"calls {function.get('name')!s}", "bold"))
        words = [word(call_id, QUIET), *self._cut(said)]
        yield from packed(head, words, width=self._width, indent=_INDENT + 2)
        found = self._results.get(n, {}).get(call_id, [])
        for place in found:
            texts = list(_texts(self._stored[place].get("content"))) or [""]
            label = Text(" " * (_INDENT + 2)).append_text(word(f"[{place + 1}] result"))
            words = [part for text in texts for part in self._cut(text)]
            yield from packed(label, words, width=self._width, indent=_INDENT + 4)
        if not found:
            yield Text(" " * (_INDENT + 2)).append_text(word("no result", BAD))
        if len(found) > 1:
            yield Text(" " * (_INDENT + 2)).append_text(word(f"{len(found)} results for one call", BAD))

    def _content(self, text: str) -> Iterator[Text]:
        shown = cut(text, self._limit)
        for line in shown.split("\n"):
            yield from packed(Text(" " * _INDENT), [word(line)], width=self._width, indent=_INDENT)
        if len(shown) < len(text):
            yield Text(" " * _INDENT).append_text(_more(text))

    def _cut(self, text: str) -> list[Text]:
        shown = word(cut(text, self._limit))
        return [shown] if self._limit is None or len(text) <= self._limit else [shown, _more(text)]

    def _items(self, message: Mapping[str, Any]) -> Iterator[Text]:
        """What the Responses API sent beside text and calls: reasoning in words, and what else there is by its kind."""
        for text in response_reasoning(message):
            yield from self._other("reasoning", text)
        held = as_object(message.get(RESPONSE_FIELD)) or {}
        kinds = [str((as_object(item) or {}).get("type")) for item in as_list(held.get("output")) or []]
        if RESPONSE_FIELD in message:
            yield from self._other("items", ", ".join(kinds) or "none")

    def _other(self, key: str, value: object) -> Iterator[Text]:
        text = value if isinstance(value, str) else _compact(value)
        head = Text(" " * _INDENT).append_text(word(f"{key}:", QUIET))
        yield from packed(head, self._cut(text), width=self._width, indent=_INDENT + 2)


def _results(stored: Sequence[Message]) -> dict[int, dict[str, list[int]]]:
    found: dict[int, dict[str, list[int]]] = {}
    asked: dict[str, list[int]] = {}
    for n, raw in enumerate(stored):
        message = as_object(raw) or {}
        role = message.get("role")
        if role == "assistant":
            calls = [as_object(call) or {} for call in as_list(message.get("tool_calls")) or []]
            asked = found[n] = {call_id: [] for call in calls if (call_id := as_text(call.get("id")))}
        elif role == "tool":
            answered = as_text(message.get("tool_call_id"))
            if answered in asked:
                asked[answered].append(n)
    return found


def _texts(content: object) -> Iterator[str]:
    """The texts of a content: itself, or those of its parts, other parts as JSON."""
    if isinstance(content, str):
        yield content
        return
    for part in as_list(content) or ([] if content is None else [content]):
        text = (as_object(part) or {}).get("text")
        yield text if isinstance(text, str) else _compact(part)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _more(text: str) -> Text:
    return word(f"({count_text(len(text))} characters in all; --full shows them)", ODD)
