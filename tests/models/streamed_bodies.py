"""A response body as the events of a stream: every way to split it that leaves no doubt about what it says."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHOLE = {"type", "id", "index", "format", "role"}
"""Fields of a message that name something: they come in one piece."""


class Chooser(Protocol):
    """Who decides where to split."""

    def __call__(self, least: int, most: int) -> int:
        """A number from the least to the most, both included."""
        ...


def is_streamable(body: object) -> bool:
    """Whether there is a stream that says the same."""
    if not isinstance(body, dict):
        return False
    choices = cast("dict[str, Any]", body).get("choices")
    if not isinstance(choices, list):
        return choices is None
    return all(
        isinstance(choice, dict) and isinstance(cast("dict[str, Any]", choice).get("message"), dict)
        for choice in cast("list[Any]", choices)
    )


def events_of(body: Mapping[str, Any], choose: Chooser) -> list[dict[str, Any]]:
    """The events of a body that is streamable."""
    head = {name: body[name] for name in ("id", "model") if name in body}
    events: list[dict[str, Any]] = []
    for index, choice in enumerate(body.get("choices") or ()):
        deltas = deltas_of(choice["message"], choose)
        last: dict[str, Any] = {
            name: value for name, value in choice.items() if name not in {"message", "index", "delta"}
        }
        if choose(0, 1) and deltas:
            *deltas, closing = deltas
        else:
            closing = {}
        events += [{**head, "choices": [{"index": index, "delta": each, "finish_reason": None}]} for each in deltas]
        events.append({**head, "choices": [{"index": index, "delta": closing, **last}]})
    rest = {name: value for name, value in body.items() if name not in {"choices", *head}}
    if choose(0, 1) and events:
        events[-1] |= rest
    else:
        events.append({**head, "choices": [], **rest})
    return events


def deltas_of(message: Mapping[str, Any], choose: Chooser) -> list[dict[str, Any]]:
    """The deltas of one message, in an order that a server may choose."""
    queues: list[list[dict[str, Any]]] = []
    for name, value in message.items():
        if name == "tool_calls" and isinstance(value, list) and value:
            for index, entry in enumerate(cast("list[Any]", value)):
                queues.append([{name: [piece]} for piece in _pieces_of_call(entry, index, choose)])
        elif isinstance(value, str) and name not in WHOLE:
            queues.append([{name: piece} for piece in split_text(value, choose)])
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            at = choose(0, len(items))
            queues.append([{name: items[:at]}, {name: items[at:]}])
        else:
            queues.append([{name: value}])
    role = [{"role": "assistant"}] if choose(0, 1) else []
    return [*role, *_interleaved(queues, choose)] or [{"role": "assistant"}]


def split_text(text: str, choose: Chooser, most: int = 4) -> list[str]:
    """The text in pieces, some of them empty; half a character where its two escapes can come apart."""
    units = text.encode("utf-16-le", "surrogatepass")
    cuts = sorted(2 * choose(0, len(units) // 2) for _ in range(choose(0, most)))
    ends = [0, *cuts, len(units)]
    return [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(ends)]


def packets_of(events: Sequence[object], choose: Chooser, *, line_end: str = "\n", done: bool = True) -> list[bytes]:
    """The bytes of a stream, in packets that end anywhere."""
    said = [json.dumps(event, ensure_ascii=bool(choose(0, 1))) for event in events] + (["[DONE]"] if done else [])
    noise = [f": still here{line_end}{line_end}", f"event: message{line_end}", ""]
    text = "".join(f"{noise[choose(0, 2)]}data: {each}{line_end}{line_end}" for each in said)
    data = text.encode("utf-8", "surrogatepass")
    cuts = sorted(choose(0, len(data)) for _ in range(choose(0, 6)))
    ends = [0, *cuts, len(data)]
    return [data[a:b] for a, b in pairwise(ends) if b > a]


def _pieces_of_call(entry: Any, index: int, choose: Chooser) -> list[Any]:
    """The pieces of one call; what is no function call comes as it is."""
    if not isinstance(entry, dict):
        return [entry]
    fields = cast("dict[str, Any]", entry)
    function = fields.get("function")
    if not isinstance(function, dict):
        return [{**fields, "index": index}]
    inside = cast("dict[str, Any]", function)
    name, arguments = inside.get("name"), inside.get("arguments")
    names = _name_pieces(name, choose) if isinstance(name, str) else [name]
    texts = split_text(arguments, choose) if isinstance(arguments, str) else [arguments]
    extra = {key: value for key, value in inside.items() if key not in {"name", "arguments"}}
    pieces: list[dict[str, Any]] = [{"index": index, "function": {"name": piece}} for piece in names]
    pieces += [{"index": index, "function": {"arguments": text}} for text in texts]
    pieces[choose(0, len(pieces) - 1)]["function"] |= extra
    for key, value in fields.items():
        if key != "function":
            pieces[choose(0, len(pieces) - 1)] |= {key: value}
    if "arguments" not in inside:
        pieces = [piece for piece in pieces if piece["function"].get("arguments") or "name" in piece["function"]]
    if choose(0, 1) and isinstance(name, str) and len(names) == 1:  # named in each piece
        pieces = [_named(piece, name) for piece in pieces]
    return pieces


def _named(piece: dict[str, Any], name: str) -> dict[str, Any]:
    function = piece["function"]
    again = bool((function.get("arguments") or "").strip()) if isinstance(function.get("arguments"), str) else False
    return {**piece, "function": {**function, "name": name}} if again else piece


def _name_pieces(name: str, choose: Chooser) -> list[str]:
    """A name in pieces, none of which is all that came before it: that could be the whole name again."""
    pieces = [piece for piece in split_text(name, choose, most=2) if piece]
    before = ""
    for piece in pieces:
        if piece == before:
            return [name]
        before += piece
    return pieces or [name]


def _interleaved(queues: list[list[dict[str, Any]]], choose: Chooser) -> list[dict[str, Any]]:
    """The queues merged, each in its own order, the calls begun in theirs."""
    waiting = [queue for queue in queues if queue]
    merged: list[dict[str, Any]] = []
    while waiting:
        which = choose(0, len(waiting) - 1)
        merged.append(waiting[which].pop(0))
        if not waiting[which]:
            del waiting[which]
    return merged
