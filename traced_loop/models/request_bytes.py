"""A request as it is sent: each message of a run, and its tools, are written as JSON once, not in every request.

A request holds the whole history. Written anew each time, it takes most of what a long run costs.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from traced_loop.messages import Message, RunMessages

_MESSAGES: Final = "messages"
_encoder: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
"""As the official client writes JSON."""


class WrittenRequest:
    """The requests of one run, as their parts were written last; one request is written at a time.

    A part that is not equal to what was written in its place is written anew. Equal as Python has it: a number that
    became the truth value that is equal to it is not seen.
    """

    def __init__(self) -> None:
        """None yet."""
        self._as_it_was: list[object] = []
        self._written: list[bytes] = []
        self._fields: dict[str, tuple[object, bytes]] = {}

    def array(self, messages: Sequence[Message]) -> bytes:
        """Messages as a JSON array.

        Raises:
            TypeError, ValueError, RecursionError: one cannot be written.
        """
        for place, message in enumerate(messages):
            if place < len(self._written) and self._as_it_was[place] == message:
                continue
            written, copied = _json(message), _copied(message)
            self._written[place : place + 1], self._as_it_was[place : place + 1] = [written], [copied]
        del self._as_it_was[len(messages) :], self._written[len(messages) :]
        return b"[" + b",".join(self._written) + b"]"

    def field(self, name: str, value: object) -> bytes:
        """Another field of a request: the tools, which may be long and are the same in all, or a number.

        Raises:
            TypeError, ValueError, RecursionError: it cannot be written.
        """
        if not isinstance(value, (dict, list, tuple)):
            return _json(value)
        kept = self._fields.get(name)
        if kept is None or kept[0] != value:
            kept = self._fields[name] = _copied(cast("object", value)), _json(cast("object", value))
        return kept[1]


def request_bytes(body: Mapping[str, Any], messages: Sequence[Message]) -> bytes | None:
    """The body as the official client would write it; None where that is to be left to it.

    It knows more kinds of values than JSON has, and says what is wrong with those that it cannot write either.

    Args:
        body: of the request.
        messages: the history, which stands in ``body`` or does not. What is written of a run's own is kept with it.
    """
    if not all(isinstance(name, str) for name in body):  # pyright: ignore[reportUnnecessaryIsInstance]
        return None
    written = _written_of(messages)
    try:
        fields = [
            _json(name)
            + b":"
            + (written.array(value) if name == _MESSAGES and value is messages else written.field(name, value))
            for name, value in body.items()
        ]
    except (TypeError, ValueError, RecursionError):
        return None
    return b"{" + b",".join(fields) + b"}"


def _written_of(messages: Sequence[Message]) -> WrittenRequest:
    if not isinstance(messages, RunMessages):
        return WrittenRequest()
    if not isinstance(messages.made, WrittenRequest):
        messages.made = WrittenRequest()
    return messages.made


def _json(value: object) -> bytes:
    return _encoder.encode(value).encode()


def _copied(value: object) -> object:
    """Other containers with the same texts and numbers in them: what is changed in place is not equal to it."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in cast("dict[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        copies = [_copied(item) for item in cast("Sequence[object]", value)]
        return copies if isinstance(value, list) else tuple(copies)
    return value
