"""What differs between the two APIs: where a request goes, what it holds, how an answer is read, whole or in pieces."""

from collections.abc import Mapping
from typing import Any, Protocol

from traced_loop.errors import ModelError
from traced_loop.messages import ModelAnswer, ModelChunk, ModelRequest


class StreamReader(Protocol):
    """Puts one streamed answer together; used once, from one task.

    Whatever arrives, it does not raise: what is odd becomes an anomaly or an ``error`` of the answer.
    """

    @property
    def finished(self) -> bool:
        """Whether the answer has its terminal reason, or its error: no call and no text is missing from it.

        A connection that is lost from then on takes nothing away; one that is lost before is a failed request.
        """
        ...

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
    def api_type(self) -> str:
        """The word for ``openai.api.type``."""
        ...

    @property
    def path(self) -> str:
        """Where requests go, below the base URL."""
        ...

    @property
    def smallest_cap(self) -> int:
        """The smallest output cap that servers take."""
        ...

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as it is sent, without what asks for a stream."""
        ...

    def stream_body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as it is sent where the answer is to come in pieces."""
        ...

    def read(self, body: object) -> ModelAnswer:
        """Read a parsed response body; whatever its shape, it does not raise."""
        ...

    def stream(self) -> StreamReader:
        """A new reader for one streamed answer."""
        ...

    def failure(self, sent: Mapping[str, Any], error: ModelError) -> ModelError:
        """What an error means for a request that was sent; the error itself where it means nothing special here."""
        ...
