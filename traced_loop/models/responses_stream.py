"""Streamed answers of the Responses API, put together from their events.

The last event (``response.completed``, ``incomplete`` or ``failed``) holds the whole answer, and is what counts. What
came before it is for whoever looks on, for servers that leave the output out there, and for streams that break off:
those have no status, so that nothing in them runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from traced_loop.json_shapes import as_object, as_text
from traced_loop.messages import ModelAnswer, ModelChunk
from traced_loop.models.responses_answer import read_response
from traced_loop.models.responses_output import FUNCTION_CALL
from traced_loop.models.usage_counts import read_usage

_LAST: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
_FIRST: Final = frozenset({"created", "queued", "in_progress"})
_PIECES: Final[Mapping[str, str]] = {
    "output_text": "text",
    "refusal": "refusal",
    "function_call_arguments": "arguments",
}
"""Middle of an event's type → field of its ``done`` event with the whole text."""
_Place = tuple[int, str, int]
"""Index of the item, what is written (a key of ``_PIECES``), index of the part."""


@dataclass(slots=True)
class ResponsesStream:
    """See ``StreamReader``. Doubled events count once, and pieces are put in the order of their numbers.

    Attributes:
        server: host that is read from.
    """

    server: str
    _begun: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _ended: Mapping[str, Any] | None = None
    _error: object = None
    _added: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    _done: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    _pieces: dict[_Place, list[tuple[int, str]]] = field(default_factory=dict[_Place, list[tuple[int, str]]])
    _wholes: dict[_Place, str] = field(default_factory=dict[_Place, str])
    _seen: dict[int, object] = field(default_factory=dict[int, object])

    @property
    def finished(self) -> bool:
        """See ``StreamReader.finished``."""
        return self._ended is not None or self._error is not None

    def take(self, event: object) -> ModelChunk:
        """See ``StreamReader.take``."""
        fields = as_object(event)
        if fields is None or self.finished or self._is_double(fields):
            return ModelChunk()
        kind = (as_text(fields.get("type")) or "").removeprefix("response.")
        response = as_object(fields.get("response"))
        if kind in _LAST:
            # An event that says less than the answer in it is believed: nothing runs from one that failed.
            self._ended = {"status": kind, **(response or {}), **({} if kind == "completed" else {"status": kind})}
            usage, _ = read_usage(self._ended.get("usage"))
            return ModelChunk(usage=usage if usage.source == "provider" else None)
        if kind == "error" or ("error" in fields and not kind):
            self._error = fields.get("error") or fields
        elif kind in _FIRST:
            self._begun = response or self._begun
        elif kind in {"output_item.added", "output_item.done"}:
            self._item(fields, is_done=kind.endswith("done"))
        else:
            return self._piece(kind, fields)
        return ModelChunk()

    def answer(self) -> ModelAnswer:
        """See ``StreamReader.answer``."""
        body: dict[str, Any] = dict(self._ended if self._ended is not None else {**self._begun, "status": None})
        if body.get("output") in (None, []):  # left out; what is no list is no answer
            body["output"] = self._put_together()
        if self._error is not None:
            body["error"] = self._error
        return read_response(body, self.server)

    def _is_double(self, fields: Mapping[str, Any]) -> bool:
        """The number alone does not tell: there are servers that give all events the same."""
        number = fields.get("sequence_number")
        if not isinstance(number, int):
            return False
        if self._seen.get(number) == fields:
            return True
        self._seen[number] = fields
        return False

    def _item(self, fields: Mapping[str, Any], *, is_done: bool) -> None:
        at, item = _index(fields.get("output_index")), as_object(fields.get("item"))
        if at is not None and item is not None:
            (self._done if is_done else self._added)[at] = item

    def _piece(self, kind: str, fields: Mapping[str, Any]) -> ModelChunk:
        what, _, form = kind.rpartition(".")
        piece = as_text(fields.get("delta")) if form == "delta" else None
        if what in _PIECES:
            at, part = _index(fields.get("output_index")), _index(fields.get("content_index", 0))
            whole = fields.get(_PIECES[what])
            if at is not None and part is not None and piece is not None:
                written = self._pieces.setdefault((at, what, part), [])
                number = fields.get("sequence_number")
                written.append((number if isinstance(number, int) else len(written), piece))
            elif at is not None and part is not None and form == "done" and isinstance(whole, str):
                self._wholes[at, what, part] = whole
        if piece is None:
            return ModelChunk()
        return ModelChunk(text=piece if what == "output_text" else "", characters=len(piece))

    def _put_together(self) -> list[Mapping[str, Any]]:
        """The items so far; one that has not been said to be done is incomplete, whatever is there of it."""
        texts = {place: self._text(place) for place in sorted({*self._pieces, *self._wholes})}
        items: list[Mapping[str, Any]] = []
        for at in sorted({*self._added, *self._done, *(place[0] for place in texts)}):
            written = {(what, part): text for (item, what, part), text in texts.items() if item == at}
            items.append(self._done[at] if at in self._done else _unfinished(self._added.get(at, {}), written))
        return items

    def _text(self, place: _Place) -> str:
        pieces = sorted(self._pieces.get(place, ()), key=lambda piece: piece[0])
        return self._wholes.get(place) or "".join(text for _, text in pieces)


def _unfinished(item: Mapping[str, Any], written: Mapping[tuple[str, int], str]) -> Mapping[str, Any]:
    """An item with what has been written in it."""
    arguments = [text for (what, _), text in written.items() if what == "function_call_arguments"]
    if item.get("type", FUNCTION_CALL if arguments else "message") == FUNCTION_CALL:
        begun = {"type": FUNCTION_CALL, "arguments": "", **item, "status": "incomplete"}
        return {**begun, "arguments": arguments[0]} if arguments else begun
    if item.get("type", "message") != "message":
        return item
    parts = [{"type": what, _PIECES[what]: text} for (what, _), text in written.items() if text]
    return {"type": "message", "role": "assistant", **item, "status": "incomplete", "content": parts}


def _index(raw: object) -> int | None:
    return raw if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < 2**31 else None
