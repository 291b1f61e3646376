"""A streamed answer of the Chat Completions API, put together into the body that would have come whole.

It is then read like any other: what a stream can say wrongly beyond that is an anomaly of its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from traced_loop.closed_words import Anomaly
from traced_loop.json_shapes import as_list, as_object, as_text, deeper_than
from traced_loop.messages import ModelAnswer, ModelChunk, TokenUsage
from traced_loop.models.chat_completion import MAX_DEPTH, read_body, usage_of
from traced_loop.models.streamed_calls import StreamedCalls
from traced_loop.models.streamed_fields import GrowingObject, joined
from traced_loop.models.usage_counts import read_usage
from traced_loop.rules.answer_verdict import STOP_REASONS, TOOL_REASONS, text_of

_NOTHING: Final = ModelChunk()
_HEAD: Final = ("id", "model")


class ChatStream:
    """See ``StreamReader``."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._head: dict[str, str] = {}
        self._usage: dict[str, Any] | None = None
        self._error: object = None
        self._choice: _Choice | None = None
        self._anomalies: list[Anomaly] = []

    @property
    def finished(self) -> bool:
        """See ``StreamReader.finished``."""
        choice = self._choice
        return bool(self._error) or (choice is not None and choice.is_over)

    def take(self, event: object) -> ModelChunk:
        """See ``StreamReader.take``."""
        fields = as_object(event)
        if fields is None:
            self._note(Anomaly.STREAM_EVENT_ODD)
            return _NOTHING
        for name in _HEAD:
            if name not in self._head and (word := as_text(fields.get(name))) is not None:
                self._head[name] = word
        self._error = self._error or fields.get("error")
        text, characters, counted = "", 0, usage_of(fields)
        for raw in as_list(fields.get("choices")) or ():
            choice = as_object(raw)
            if choice is None:
                self._note(Anomaly.STREAM_EVENT_ODD)
            elif (mine := self._mine(choice)) is not None:
                said, more = mine.take(choice)
                text, characters = text + said, characters + more
                counted = counted or choice.get("usage")
        return ModelChunk(text=text, characters=characters, usage=self._count(counted))

    def answer(self) -> ModelAnswer:
        """See ``StreamReader.answer``."""
        body: dict[str, Any] = {**self._head, "usage": self._usage, "error": self._error}
        odd = list(self._anomalies)
        if self._choice is not None:
            body["choices"] = [self._choice.whole()]
            odd += self._choice.odd()
        if not self._error and (self._choice is None or not (self._choice.reason or self._choice.error)):
            odd.append(Anomaly.STREAM_UNFINISHED)
        read = read_body(body)
        return replace(read, anomalies=(*read.anomalies, *dict.fromkeys(odd)))

    def _mine(self, choice: Mapping[str, Any]) -> "_Choice | None":
        """The choice that this is a piece of, if it is the first one: that of the lowest index."""
        raw = choice.get("index")
        index = raw if isinstance(raw, int) else None
        if self._choice is None:
            self._choice = _Choice(index)
        elif index is not None and self._choice.index is not None and index != self._choice.index:
            self._note(Anomaly.SEVERAL_CHOICES)
            if index > self._choice.index:
                return None
            self._choice = _Choice(index)
        return self._choice

    def _count(self, raw: object) -> TokenUsage | None:
        """The counts so far: a later count replaces an earlier one, field by field, and is never added to it."""
        fields = as_object(raw)
        if fields is None:
            return None
        self._usage = {**(self._usage or {}), **{name: value for name, value in fields.items() if value is not None}}
        return read_usage(self._usage)[0]

    def _note(self, anomaly: Anomaly) -> None:
        if anomaly not in self._anomalies:
            self._anomalies.append(anomaly)


class _Choice:
    """One choice as far as it has come."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.reason: str | None = None
        self.error: object = None
        self._message = GrowingObject()
        self._calls: StreamedCalls | None = None
        self._goes_on = False
        self._sent_whole: Mapping[str, Any] | None = None
        self._any_delta = False
        self._wrote = False
        self._too_deep = False
        self._anomalies: list[Anomaly] = []
        self._held = ""

    @property
    def is_over(self) -> bool:
        """Whether its last piece is known to have come: one that is written on after its reason has lost that."""
        return bool(self.error) or (self.reason is not None and not self._goes_on)

    def take(self, choice: Mapping[str, Any]) -> tuple[str, int]:
        """Read one piece; gives its text, and the characters that the model wrote in it."""
        was_over = self.reason is not None
        self.error = self.error or choice.get("error")
        delta, message = as_object(choice.get("delta")), as_object(choice.get("message"))
        text, characters = self._delta(delta) if delta else ("", 0)
        self._any_delta = self._any_delta or delta is not None
        if message is not None and not self._wrote:
            self._sent_whole = message
            text = text_of(message.get("content")) or ""
            characters = len(text)
        if was_over and characters:
            self._anomalies.append(Anomaly.STREAM_AFTER_FINISH)
        reason = as_text(choice.get("finish_reason"))
        self._goes_on = reason is None and (self._goes_on or (was_over and characters > 0))
        self._finish(reason)
        return text, characters

    def whole(self) -> dict[str, Any]:
        """The choice as it would have come whole."""
        message: dict[str, Any] | None = self._message.whole() if self._any_delta else None
        if self._calls is not None:
            message = {**(message or {}), "tool_calls": self._calls.entries()}
        if self._sent_whole is not None and not self._wrote:
            message = dict(self._sent_whole)
        if self._too_deep:
            message = None
        return {"message": message, "finish_reason": self.reason, "error": self.error}

    def odd(self) -> list[Anomaly]:
        """What was odd; to be asked after ``whole``."""
        return [*self._anomalies, *(self._calls.anomalies if self._calls is not None else ())]

    def _delta(self, delta: Mapping[str, Any]) -> tuple[str, int]:
        if any(isinstance(value, (dict, list)) for value in delta.values()) and deeper_than(delta, MAX_DEPTH):
            self._too_deep = True
            return "", 0
        self._wrote = self._wrote or any(value for name, value in delta.items() if name != "role")
        characters = sum(len(value) for name, value in delta.items() if isinstance(value, str) and name != "role")
        if "tool_calls" in delta:
            self._calls = self._calls or StreamedCalls()
            characters += self._calls.take(delta["tool_calls"])
            delta = {name: value for name, value in delta.items() if name != "tool_calls"}
        self._message.take(delta)
        content = delta.get("content")
        if isinstance(content, str):
            return self._shown(content), characters
        parts = text_of(cast("object", content)) or ""
        return self._shown(parts or as_text(delta.get("refusal")) or ""), characters + len(parts)

    def _shown(self, text: str) -> str:
        """The text as far as its characters are whole: half of one waits for the other half."""
        if not text or (not self._held and max(text) <= "\ud7ff"):
            return text
        said = joined([self._held, text])
        self._held = said[-1] if "\ud800" <= said[-1] <= "\udbff" else ""
        return said[: len(said) - len(self._held)]

    def _finish(self, reason: str | None) -> None:
        before = self.reason
        if reason is None or (before is not None and reason.lower() == before.lower()):
            return
        if before is None:
            self.reason = reason
            return
        self._anomalies.append(Anomaly.STREAM_FINISH_CHANGED)
        self.reason = min(before, reason, key=_permits)


def _permits(reason: str) -> int:
    """What a finish reason permits: 0 nothing, 1 an answer, 2 calls."""
    word = reason.lower()
    return 2 if word in TOOL_REASONS else 1 if word in STOP_REASONS else 0
