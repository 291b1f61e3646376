"""A request as it is sent: each message of a run is written as JSON once, whatever number of requests it is in.

A request holds the whole history. Written anew each time, it takes most of what a long run costs.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from traced_loop.messages import Message

_MESSAGES: Final = "messages"
_encoder: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
"""As the official client writes JSON."""


class WrittenMessages:
    """The messages of one run, as they are written; one request is written at a time."""

    def __init__(self) -> None:
        """None yet."""
        self._messages: list[Message] = []
        self._written: list[bytes] = []

    def array(self, messages: Sequence[Message]) -> bytes:
        """All of them as a JSON array. What is another object than it was before is written anew.

        Raises:
            TypeError, ValueError, RecursionError: one cannot be written.
        """
        for place, message in enumerate(messages):
            if place == len(self._messages):
                self._written.append(_json(message))
                self._messages.append(message)
            elif self._messages[place] is not message:
                self._written[place] = _json(message)
                self._messages[place] = message
        del self._messages[len(messages) :], self._written[len(messages) :]
        return b"[" + b",".join(self._written) + b"]"


def request_bytes(body: Mapping[str, Any], messages: Sequence[Message], written: WrittenMessages) -> bytes | None:
    """The body as the official client would write it; None where that is to be left to it.

    It knows more kinds of values than JSON has, and says what is wrong with those that it cannot write either.

    Args:
        body: of the request.
        messages: the history, which stands in ``body`` or does not.
        written: what was written of the run's messages before.
    """
    try:
        fields = [
            _json(name) + b":" + (written.array(messages) if name == _MESSAGES and value is messages else _json(value))
            for name, value in body.items()
        ]
    except (TypeError, ValueError, RecursionError):
        return None
    return b"{" + b",".join(fields) + b"}"


def _json(value: object) -> bytes:
    return _encoder.encode(value).encode()
