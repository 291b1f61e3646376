"""The content of one run, read once: each message is converted, pruned and masked when it is new, and never again."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from traced_loop.frozen_value import frozen_value
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.capture import ContentCapture
from traced_loop.telemetry.content.fitting import Piece, message_piece, value_piece
from traced_loop.telemetry.content.genai_messages import MessageReader, definition_of
from traced_loop.telemetry.content.json_pruning import pruned


@frozen_value
class Sent:
    """The messages of one request that are shown, and the 0-based place of the first in what was sent."""

    pieces: Sequence[Piece]
    first: int


class RunContent:
    """What was said in one run, as it may be shown."""

    def __init__(self, capture: ContentCapture, kept_home: Collection[str], hygiene: Hygiene) -> None:
        """Nothing is read yet.

        Args:
            capture: what may be shown.
            kept_home: tools whose arguments and results may not.
            hygiene: the run's counts.
        """
        self.capture = capture
        self.hygiene = hygiene
        self._reader = MessageReader(kept_home)
        self._sent: list[Piece] = []
        self._count = 0
        self._definitions: Sequence[Piece] | None = None

    def sent(self, messages: Sequence[Mapping[str, Any]]) -> Sent:
        """What is new since the last request, or all of it where the whole history is wanted.

        The history only grows, so the number of messages says which ones are known.
        """
        if len(messages) < self._count:
            self._count, self._sent = 0, []
        first, self._count = self._count, len(messages)
        new = [self._message(self._reader.read(message)) for message in messages[first:]]
        if self.capture.history == "new":
            return Sent(pieces=new, first=first)
        self._sent += new
        return Sent(pieces=tuple(self._sent), first=0)

    def read(self, message: Mapping[str, Any]) -> Piece:
        """One message beside the history, as the run's own input."""
        return self._message(MessageReader().read(message))

    def parts(self, message: Mapping[str, Any]) -> Sequence[Piece]:
        """The parts of one message by themselves."""
        return [self._message(part) for part in MessageReader().read(message)["parts"]]

    def answer(self, message: Mapping[str, Any], finish_reason: str | None) -> Piece:
        """What the model answered."""
        return self._message(self._reader.read_answer(message, finish_reason))

    def definitions(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Piece]:
        """The tool definitions, the same for each request of a run."""
        if self._definitions is None:
            self._definitions = [self._message(definition_of(tool)) for tool in tools]
        return self._definitions

    def value(self, value: object) -> Piece:
        """Arguments or a result."""
        return self._piece(value, value_piece)

    def _message(self, message: dict[str, Any]) -> Piece:
        return self._piece(message, message_piece)

    def _piece(self, value: object, make: Callable[[Any, int], Piece]) -> Piece:
        plain = pruned(value)
        shown = plain.value
        if self.capture.redact:
            shown = self.hygiene.redactor.value(plain.value, self.hygiene.redactions)
            self.hygiene.redacted += shown != plain.value
        return make(shown, plain.removed)
