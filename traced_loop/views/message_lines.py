"""What the model saw and said: each message with its role, each call with its result beside it."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from traced_loop.amount_text import count_text
from traced_loop.messages import Message
from traced_loop.read.joined_history import JoinedCall, JoinedMessage, joined_history
from traced_loop.views.lines import BAD, ODD, QUIET, packed, word
from traced_loop.views.visible import cut

SHOWN_CHARACTERS: Final = 400
"""Characters of one content, unless the whole is asked for."""
_INDENT: Final = 4


def message_lines(stored: Sequence[Message], *, width: int | None = None, full: bool = False) -> list[Text]:
    """The transcript of a run.

    Args:
        stored: as it was recorded; entries of any shape.
        width: cells of a line, or None for lines as long as the content's.
        full: cut nothing.
    """
    view = _View(width, None if full else SHOWN_CHARACTERS)
    lines = [line for message in joined_history(stored) for line in view.message(message)]
    return lines or [word("no messages are stored for this run")]


class _View:
    def __init__(self, width: int | None, limit: int | None) -> None:
        self._width = width
        self._limit = limit

    def message(self, message: JoinedMessage) -> Iterator[Text]:
        yield _head(message)
        for text in message.texts:
            yield from self._content(text)
        for call in message.calls:
            yield from self._call(call)
        for key, text in message.others:
            yield from self._other(key, text)

    def _call(self, call: JoinedCall) -> Iterator[Text]:
        head = Text(" " * _INDENT).append_text(word(f"calls {call.name}", "bold"))
        words = [word(call.call_id or "no id", QUIET), *self._cut(call.arguments)]
        yield from packed(head, words, width=self._width, indent=_INDENT + 2)
        for result in call.results:
            label = Text(" " * (_INDENT + 2)).append_text(word(f"[{result.place}] result"))
            parts = [part for text in result.texts for part in self._cut(text)]
            yield from packed(label, parts, width=self._width, indent=_INDENT + 4)
        if not call.results:
            yield Text(" " * (_INDENT + 2)).append_text(word("no result", BAD))
        if len(call.results) > 1:
            yield Text(" " * (_INDENT + 2)).append_text(word(f"{len(call.results)} results for one call", BAD))

    def _content(self, text: str) -> Iterator[Text]:
        shown = cut(text, self._limit)
        for line in shown.split("\n"):
            yield from packed(Text(" " * _INDENT), [word(line)], width=self._width, indent=_INDENT)
        if len(shown) < len(text):
            yield Text(" " * _INDENT).append_text(_more(text))

    def _cut(self, text: str) -> list[Text]:
        shown = word(cut(text, self._limit))
        return [shown] if self._limit is None or len(text) <= self._limit else [shown, _more(text)]

    def _other(self, key: str, text: str) -> Iterator[Text]:
        head = Text(" " * _INDENT).append_text(word(f"{key}:", QUIET))
        yield from packed(head, self._cut(text), width=self._width, indent=_INDENT + 2)


def _head(message: JoinedMessage) -> Text:
    if not message.is_message:
        return word(f"[{message.place}] not a message", BAD)
    if message.answers is not None:
        return word(f"[{message.place}] tool, answers {message.answers}, which nothing before it asked for", BAD)
    return word(f"[{message.place}] {message.role or 'no role'}", "bold")


def _more(text: str) -> Text:
    return word(f"({count_text(len(text))} characters in all; --full shows them)", ODD)
