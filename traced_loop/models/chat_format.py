"""Requests of the Chat Completions API; ``chat_completion`` reads the answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

from traced_loop.errors import ModelError
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object
from traced_loop.messages import RESPONSE_FIELD, Message, ModelAnswer, ModelRequest
from traced_loop.models.chat_completion import read_body
from traced_loop.models.provider_profiles import OutputCapField

if TYPE_CHECKING:
    from traced_loop.models.chat_stream import ChatStream

_CAP_FIELDS: Final = get_args(OutputCapField)


@frozen_value
class ChatFormat:
    """See ``WireFormat``.

    Attributes:
        cap_field: name of the output cap where the caller gives none.
        stream_usage: whether a stream is asked for its token counts, which come in its last chunk.
    """

    cap_field: OutputCapField = "max_tokens"
    stream_usage: bool = True

    @property
    def api_type(self) -> str:
        """See ``WireFormat.api_type``."""
        return "chat_completions"

    @property
    def path(self) -> str:
        """See ``WireFormat.path``."""
        return "/chat/completions"

    @property
    def smallest_cap(self) -> int:
        """See ``WireFormat.smallest_cap``."""
        return 1

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """See ``WireFormat.body``."""
        body: dict[str, Any] = {"model": model, "messages": _sendable(request.messages), **request.parameters}
        if request.tools:
            body["tools"] = request.tools
            if request.tool_choice is not None:
                body["tool_choice"] = request.tool_choice
        if request.output_cap is not None:
            # Lower than what the caller asked for, under the caller's name for it.
            given = [field for field in _CAP_FIELDS if field in body]
            body |= dict.fromkeys(given or [self.cap_field], request.output_cap)
        return body

    def stream_body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """See ``WireFormat.stream_body``. What the caller says about a stream's options is kept."""
        body = self.body(model, request)
        if self.stream_usage:
            body["stream_options"] = {"include_usage": True, **(as_object(body.get("stream_options")) or {})}
        return {**body, "stream": True}

    def read(self, body: object) -> ModelAnswer:
        """See ``WireFormat.read``."""
        return read_body(body)

    def stream(self) -> "ChatStream":
        """See ``WireFormat.stream``."""
        from traced_loop.models.chat_stream import ChatStream

        return ChatStream()

    def failure(self, sent: Mapping[str, Any], error: ModelError) -> ModelError:
        """See ``WireFormat.failure``."""
        return error


def _sendable(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages without what the other API sent; most histories have none of it."""
    if not any(RESPONSE_FIELD in message for message in messages):
        return messages
    return [{key: value for key, value in message.items() if key != RESPONSE_FIELD} for message in messages]
