"""What is done to a body: bytes, events and JSON values, each by numbers that can be drawn and shrunk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from .bodies import BODIES, Body

Change = tuple[str, int, int]
"""A kind, where, and what else it wants to know; numbers are taken modulo what there is."""

NASTY: Final = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\n\n",
    b"\r",
    b"data: ",
    b"data: [DONE]\n\n",
    b"data: null\n\n",
    b"event: error\n",
    b'"',
    b"\\",
    b"\\ud83d",
    b"{",
    b"}",
    b"[" * 600,
    b"9" * 5000,
    b"NaN",
    b",",
    b"length",
    b"\xf0\x9f",
)
VALUES: Final[Sequence[Callable[[], Any]]] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 2**63,
    lambda: 10**400,
    lambda: 1e308,
    lambda: float("nan"),
    lambda: float("-inf"),
    lambda: "",
    lambda: " ",
    lambda: "\ud800",
    lambda: "a\x00b\x1b[2J",
    lambda: "x" * 5_000,
    list,
    dict,
    lambda: [None],
    lambda: [[], {}],
    lambda: {"": None},
    lambda: _nested(200),
    lambda: "length",
    lambda: "tool_calls",
    lambda: "stop",
    lambda: "completed",
    lambda: "apart",
    lambda: "heeds",
    lambda: '{"a":7}',
    lambda: '{"a":7,"a":8}',
    lambda: '{"a":NaN}',
    lambda: '{"a":7',
    lambda: '"{\\"a\\":7}"',
    lambda: {"a": 7},
    lambda: "1e999",
    lambda: {"message": "no", "code": 503},
)


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@dataclass(frozen=True)
class Fuzzed:
    """An answer after what was done to it."""

    seed: Body
    changes: tuple[Change, ...]

    @property
    def data(self) -> bytes:
        """Its bytes."""
        data = self.seed.data
        for kind, at, more in self.changes:
            data = CHANGES[kind](data, at, more, self.seed)
        return data


def _truncated(data: bytes, at: int, _more: int, _seed: Body) -> bytes:
    return data[: at % (len(data) + 1)]


def _flipped(data: bytes, at: int, more: int, _seed: Body) -> bytes:
    if not data:
        return data
    at %= len(data)
    return data[:at] + bytes([data[at] ^ (1 << more % 8)]) + data[at + 1 :]


def _inserted(data: bytes, at: int, more: int, _seed: Body) -> bytes:
    at %= len(data) + 1
    return data[:at] + NASTY[more % len(NASTY)] + data[at:]


def _removed(data: bytes, at: int, more: int, _seed: Body) -> bytes:
    at %= len(data) + 1
    return data[:at] + data[at + more % 32 :]


def _events(change: Callable[[list[bytes], int, int], list[bytes]]) -> Callable[[bytes, int, int, Body], bytes]:
    """What changes the order of events; a whole body is one."""

    def changed(data: bytes, at: int, more: int, _seed: Body) -> bytes:
        events = [event + b"\n\n" for event in data.split(b"\n\n")]
        events[-1] = events[-1].removesuffix(b"\n\n")
        return b"".join(change(events, at % len(events), more % len(events)))

    return changed


def _spliced(data: bytes, at: int, more: int, seed: Body) -> bytes:
    """The beginning of this one, and the end of another of its kind."""
    others = [body.data for body in BODIES if (body.api, body.streamed) == (seed.api, seed.streamed)]
    other = others[more % len(others)]
    cut = data.find(b"\n\n", at % (len(data) + 1))
    return data[: cut + 2] + other[other.find(b"\n\n", more % (len(other) + 1)) + 2 :] if cut >= 0 else data + other


def _json(change: Callable[[Any, Any, int], None]) -> Callable[[bytes, int, int, Body], bytes]:
    """What changes a value in one of the events, or in the body."""

    def changed(data: bytes, at: int, more: int, seed: Body) -> bytes:
        events = data.split(b"\n\n") if seed.streamed else [data]
        number = at % len(events)
        begin, _, text = events[number].rpartition(b"data: ")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return data
        places = list(_places(value))
        if not places:
            return data
        holder, key = places[at // len(events) % len(places)]
        change(holder, key, more)
        events[number] = begin + (b"data: " if begin or seed.streamed else b"") + _written(value)
        return b"\n\n".join(events)

    return changed


def _places(value: Any) -> Any:
    """Every place in a value: what holds it, and by what."""
    keys: Any = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _written(value: Any) -> bytes:
    """As JSON, keys that stand twice included."""
    text = json.dumps(value)
    return text.replace('"\\u0000twice ', '"').encode()


def _set(holder: Any, key: Any, more: int) -> None:
    holder[key] = VALUES[more % len(VALUES)]()


def _delete(holder: Any, key: Any, _more: int) -> None:
    del holder[key]


def _double_key(holder: Any, key: Any, more: int) -> None:
    if isinstance(holder, dict):
        holder[f"\0twice {key}"] = VALUES[more % len(VALUES)]()
    else:
        holder.insert(key, holder[key])


def _rename(holder: Any, key: Any, more: int) -> None:
    if isinstance(holder, dict):
        keys = sorted(holder)
        holder[keys[more % len(keys)]] = holder.pop(key)
    else:
        holder.reverse()


def _copy(holder: Any, key: Any, more: int) -> None:
    """A value from elsewhere in the same object or list."""
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    holder[key] = holder[keys[more % len(keys)]]


CHANGES: Final[dict[str, Callable[[bytes, int, int, Body], bytes]]] = {
    "drop": _events(lambda events, at, _: events[:at] + events[at + 1 :]),
    "double": _events(lambda events, at, _: [*events[: at + 1], *events[at:]]),
    "move": _events(lambda events, at, to: _moved(events, at, to)),
    "double far": _events(lambda events, at, to: [*events[:to], events[at], *events[to:]]),
    "truncate": _truncated,
    "set": _json(_set),
    "delete": _json(_delete),
    "double key": _json(_double_key),
    "rename": _json(_rename),
    "copy": _json(_copy),
    "flip": _flipped,
    "insert": _inserted,
    "remove": _removed,
    "splice": _spliced,
}


def _moved(events: list[bytes], at: int, to: int) -> list[bytes]:
    rest = events[:at] + events[at + 1 :]
    return [*rest[:to], events[at], *rest[to:]]


NUMBERS: Final = st.integers(0, 2**16)
CHANGED: Final = st.lists(st.tuples(st.sampled_from(list(CHANGES)), NUMBERS, NUMBERS), min_size=1, max_size=4)
FUZZED: Final = st.builds(Fuzzed, st.sampled_from(BODIES), CHANGED.map(tuple))
