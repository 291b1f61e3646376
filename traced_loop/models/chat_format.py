"""Requests of the Chat Completions API; ``chat_completion`` reads the answers."""

from dataclasses import dataclass
from typing import Any, Final, get_args

from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.chat_completion import read_body
from traced_loop.models.provider_profiles import OutputCapField

_CAP_FIELDS: Final = get_args(OutputCapField)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatFormat:
    """See ``WireFormat``.

    Attributes:
        cap_field: name of the output cap where the caller gives none.
    """

    cap_field: OutputCapField = "max_tokens"

    @property
    def path(self) -> str:
        """See ``WireFormat.path``."""
        return "/chat/completions"

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """See ``WireFormat.body``."""
        body: dict[str, Any] = {"model": model, "messages": request.messages, **request.parameters}
        if request.tools:
            body["tools"] = request.tools
            if request.tool_choice is not None:
                body["tool_choice"] = request.tool_choice
        if request.output_cap is not None:
            # Lower than what the caller asked for, under the caller's name for it.
            given = [field for field in _CAP_FIELDS if field in body]
            body |= dict.fromkeys(given or [self.cap_field], request.output_cap)
        return body

    def read(self, body: object) -> ModelAnswer:
        """See ``WireFormat.read``."""
        return read_body(body)
