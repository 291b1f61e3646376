"""What differs between the two APIs: where a request goes, what it holds, how an answer is read, whole or in pieces."""

from typing import Any, Protocol

from traced_loop.messages import ModelAnswer, ModelChunk, ModelRequest


class StreamReader(Protocol):
    """Puts one streamed answer together; used once, from one task.

    Whatever arrives, it does not raise: what is odd becomes an anomaly or an ``error`` of the answer.
    """

    def take(self, event: object) -> ModelChunk:
        """Read the next event, as parsed JSON, and say what came with it."""
        ...

    def answer(self) -> ModelAnswer:
        """The answer out of what has arrived by now, read as if it had come whole.

        A stream that ended too early gives an answer without a finish reason, which never authorises a call.
        """
        ...


class WireFormat(Protocol):
    """One API. Holds nothing of a request."""

    @property
    def path(self) -> str:
        """Where requests go, below the base URL."""
        ...

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as it is sent, without what asks for a stream."""
        ...

    def read(self, body: object) -> ModelAnswer:
        """Read a parsed response body; whatever its shape, it does not raise."""
        ...
