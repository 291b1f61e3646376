"""The tool calls of a streamed answer, put together from pieces that say more or less well which call they continue.

A piece belongs to the call of its index, else to that of its id, else to the last one that was begun. A new id at a
used index begins a call, and so does a name after arguments that are complete: servers exist that give every call the
index 0. Where two readings are left, none is taken: an entry that is no call is added, so that nothing runs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from traced_loop.closed_words import Anomaly
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.models.streamed_fields import GrowingObject, joined

_SIGNS: Final = re.compile(r'[\\"{}\[\]]')


@frozen_value
class _Piece:
    """One entry of one delta, read."""

    index: int | None
    id: str | None
    name: str | None
    arguments: object
    entry: Mapping[str, Any]
    function: Mapping[str, Any]

    @property
    def brings_arguments(self) -> bool:
        return self.arguments is not None and not _is_blank(self.arguments)

    @property
    def opens_arguments(self) -> bool:
        """Whether its arguments begin as an object: anything else after complete ones is prose behind them."""
        return self.arguments.lstrip()[:1] == "{" if isinstance(self.arguments, str) else self.brings_arguments

    def begins_another(self, name: str) -> bool:
        """Whether it has another name and no arguments yet."""
        return self.name != name and not self.brings_arguments


@dataclass(slots=True)
class _Brackets:
    """Whether text, taken in piece by piece, is one object that has been closed; each character is looked at once."""

    depth: int = 0
    quoted: bool = False
    escaped: bool = False

    def take(self, text: str) -> None:
        skip = 0 if self.escaped else -1
        for found in _SIGNS.finditer(text):
            at, sign = found.start(), found.group()
            if at == skip:
                continue
            if sign == "\\":
                skip = at + 1 if self.quoted else -1
            elif sign == '"':
                self.quoted = not self.quoted
            elif not self.quoted:
                self.depth += 1 if sign in "{[" else -1
        self.escaped = skip == len(text)


@dataclass(slots=True)
class _Call:
    """One call as far as it has come."""

    index: int | None
    id: str | None = None
    name: str = ""
    unsure: int = 0
    """How often the name came again before any argument: as a whole, or as the next piece of a longer one."""
    pieces: list[str] | None = None
    given: object = None
    """Arguments that came as JSON instead of text."""
    begun: bool = False
    """Whether arguments have come that are not blank."""
    opens: bool = False
    """Whether they begin as an object."""
    ends: bool = False
    """Whether what has come of them ends as one."""
    entry: GrowingObject = field(default_factory=GrowingObject)
    function: GrowingObject | None = None
    brackets: _Brackets = field(default_factory=_Brackets)
    looked_at: int = 0

    def is_complete(self) -> bool:
        """Whether the arguments are an object that has been closed."""
        if not self.begun or self.pieces is None:
            return self.begun
        for text in self.pieces[self.looked_at :]:
            self.brackets.take(text)
        self.looked_at = len(self.pieces)
        return self.opens and self.ends and self.brackets.depth == 0 and not self.brackets.quoted

    def takes_name(self, piece: _Piece) -> bool:
        """Add a name or a piece of one; False where it contradicts what came before."""
        name = piece.name or ""
        if not self.name or not name:
            self.name = self.name or name
        elif name == self.name:
            if self.begun or piece.brings_arguments:
                self.unsure = 0  # it comes whole with every piece
            else:
                self.unsure += 1
        elif self.begun:
            return False
        else:
            self.name, self.unsure = self.name * (self.unsure + 1) + name, 0
        return True

    def takes_arguments(self, given: object) -> bool:
        """Add arguments, text or JSON; False where they contradict what came before."""
        if given is None:
            return True
        if isinstance(given, str):
            if self.given is not None:
                return not given.strip()
            self.pieces = self.pieces or []
            self.pieces.append(given)
            if said := given.strip():
                self.opens = self.opens if self.begun else said[0] == "{"
                self.begun, self.ends = True, said[-1] == "}"
            return True
        if self.begun:
            return self.given == given
        self.given, self.begun, self.pieces = given, True, None
        return True

    def whole(self) -> dict[str, Any]:
        """The entry as it would have come whole."""
        entry = self.entry.whole()
        if self.id is not None:
            entry["id"] = self.id
        if self.function is None:
            return entry
        function = self.function.whole()
        if self.name:
            function["name"] = joined([self.name])
        if self.given is not None or self.pieces is not None:
            function["arguments"] = joined(self.pieces) if self.pieces is not None else self.given
        entry["function"] = function
        return entry


class StreamedCalls:
    """The calls of one answer."""

    def __init__(self) -> None:
        """No call yet."""
        self.anomalies: list[Anomaly] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._in_order = True

    def take(self, entries: object) -> int:
        """Read the ``tool_calls`` of one delta; gives the characters of names and arguments in them."""
        if entries is None:
            return 0
        items = as_list(entries)
        if items is None:
            self._unclear()
            return 0
        before, characters = len(self._calls), 0
        for item in items:
            piece = _read(item)
            if piece is None:
                self._unclear()
                continue
            self._take(piece, begun_here=len(self._calls) > before)
            characters += len(piece.name or "") + (len(piece.arguments) if isinstance(piece.arguments, str) else 0)
        return characters

    def entries(self) -> list[Any]:
        """The calls as they would have come whole, in order; with an entry that is none where one could not be read."""
        calls = self._calls
        if self._in_order:
            calls = sorted(calls, key=lambda call: call.index or 0)
            if [call.index for call in calls] != list(range(len(calls))):
                self._note(Anomaly.STREAM_INDEX_GAP)
        if any(call.unsure for call in calls):
            self._unclear()
        unread = [None] if Anomaly.STREAM_CALL_UNCLEAR in self.anomalies else []
        return [*(call.whole() for call in calls), *unread]

    def _take(self, piece: _Piece, *, begun_here: bool) -> None:
        call = self._call_of(piece, begun_here=begun_here)
        if call is None or not call.takes_name(piece) or not call.takes_arguments(piece.arguments):
            self._unclear()
            return
        if piece.id is not None and call.id is None:
            call.id = piece.id
            self._by_id[piece.id] = call
        call.entry.take(piece.entry)
        if piece.function or piece.name is not None or piece.arguments is not None:
            call.function = call.function or GrowingObject()
            call.function.take(piece.function)

    def _call_of(self, piece: _Piece, *, begun_here: bool) -> _Call | None:
        """The call that a piece continues, or a new one; None where that cannot be told."""
        if piece.index is not None:
            return self._at_index(piece, piece.index)
        self._in_order = False
        self._note(Anomaly.STREAM_INDEX_MISSING)
        last = self._calls[-1] if self._calls else None
        known = self._by_id.get(piece.id) if piece.id is not None else None
        if known is not None:
            return self._new(piece) if _begins(piece, known) else known
        if last is None or (piece.name is not None and (begun_here or _begins(piece, last))):
            return self._new(piece)
        if piece.name is None:
            # An id that comes late is the last call's; a second one begins a call, whose name is to come.
            return self._new(piece) if piece.id is not None and last.id is not None else last
        if piece.id is not None and (last.id is not None or last.begun):
            return self._new(piece)
        # Nothing but a name: the rest of the last call's, or a call after one without arguments.
        return last if piece.id is None and (not last.name or piece.name == last.name) else None

    def _at_index(self, piece: _Piece, index: int) -> _Call:
        call = self._by_index.get(index)
        if call is None:
            known = self._by_id.get(piece.id) if piece.id is not None and piece.name is None else None
            return known if known is not None else self._new(piece)
        other = piece.id is not None and call.id is not None and piece.id != call.id
        if other or _begins(piece, call):
            self._in_order = False
            self._note(Anomaly.STREAM_INDEX_REUSED)
            return self._new(piece)
        return call

    def _new(self, piece: _Piece) -> _Call:
        call = _Call(piece.index)
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _unclear(self) -> None:
        self._note(Anomaly.STREAM_CALL_UNCLEAR)

    def _note(self, anomaly: Anomaly) -> None:
        if anomaly not in self.anomalies:
            self.anomalies.append(anomaly)


def _begins(piece: _Piece, call: _Call) -> bool:
    """Whether a piece that could continue a call begins another: it names a tool after arguments that are complete."""
    if not call.name or piece.name is None or not (piece.opens_arguments or piece.begins_another(call.name)):
        return False
    return call.is_complete() and not (call.given is not None and call.given == piece.arguments)


def _read(raw: object) -> _Piece | None:
    entry = as_object(raw)
    function = entry.get("function") if entry is not None else None
    fields = as_object(function)
    if entry is None or (fields is None and function is not None):
        return None
    fields = fields or {}
    return _Piece(
        index=_index(entry.get("index")),
        id=as_text(entry.get("id")),
        name=as_text(fields.get("name")),
        arguments=fields.get("arguments"),
        entry={name: value for name, value in entry.items() if name not in {"index", "id", "function"}},
        function={name: value for name, value in fields.items() if name not in {"name", "arguments"}},
    )


def _index(raw: object) -> int | None:
    return raw if isinstance(raw, int) and not isinstance(raw, bool) else None


def _is_blank(given: object) -> bool:
    return isinstance(given, str) and not given.strip()
