"""Requests of the Responses API; ``responses_answer`` and ``responses_stream`` read the answers."""

from collections.abc import Mapping
from typing import Any, Final

from traced_loop.errors import ModelError
from traced_loop.json_shapes import as_list, as_object
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.responses_answer import read_response
from traced_loop.models.responses_items import input_items, last_kept
from traced_loop.models.responses_stream import ResponsesStream

FORGOTTEN: Final = "previous_response_not_found"
"""``error.type`` of a try that named an answer which the server no longer knows."""
NOT_ENCRYPTED: Final = "encrypted_reasoning_not_supported"
"""``error.type`` of a try that asked a model for reasoning which it does not give."""
NOT_TAKEN: Final = "reasoning_not_taken"
"""``error.type`` of a try that sent back reasoning which the server cannot read: another key's, or another model's."""
ENCRYPTED: Final = "reasoning.encrypted_content"
"""Word of ``include`` that asks for reasoning which can be sent back to a server that keeps nothing."""
_WITHOUT_REASONING: Final = ("gpt-3.5", "gpt-4", "gpt-5-chat", "chatgpt-")
"""How the names of OpenAI's models without reasoning begin: asked for it, they answer 400."""
_ABOUT_REASONING: Final = ("encrypted content", "reasoning item", "reasoning input item")
"""What servers call it when they refuse what was sent back, underscores read as spaces."""
_CAPS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_SHAPES: Final = {"response_format": "format", "verbosity": "verbosity"}
"""Parameter of Chat Completions → its field inside of ``text``."""


class ResponsesFormat:
    """See ``WireFormat``. Beside its settings, it knows what the server has refused and is not asked for again."""

    def __init__(self, server: str, *, server_history: bool = False) -> None:
        """Take the settings.

        Args:
            server: host that is asked; items of another one's answers are written anew.
            server_history: let the server keep the answers, and send only what is new since the last one.
        """
        self._server = server
        self._server_history = server_history
        self._forgotten: set[str] = set()
        self._encrypts = True
        self._not_taken: set[str] = set()

    @property
    def api_type(self) -> str:
        """See ``WireFormat.api_type``."""
        return "responses"

    @property
    def path(self) -> str:
        """See ``WireFormat.path``."""
        return "/responses"

    @property
    def smallest_cap(self) -> int:
        """See ``WireFormat.smallest_cap``; OpenAI's answers 400 to a smaller one."""
        return 16

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """See ``WireFormat.body``."""
        parameters = request_parameters(request.parameters)
        body: dict[str, Any] = {"model": model, "input": [], "store": self._server_history, **parameters}
        included = as_list(parameters.get("include")) or []
        reasons = self._encrypts and not _without_reasoning(model)
        if reasons and ENCRYPTED not in included:
            body["include"] = [*included, ENCRYPTED]
        body |= self._history(request, kept=body["store"] is not False)
        body["input"] = [
            item for item in body["input"] if item.get("type") != "reasoning" or self._takes(item, reasons=reasons)
        ]
        if request.tools:
            body["tools"] = [*map(flat_tool, request.tools), *(as_list(parameters.get("tools")) or ())]
            if request.tool_choice is not None:
                body["tool_choice"] = flat_choice(request.tool_choice)
        if request.output_cap is not None:
            body["max_output_tokens"] = request.output_cap
        return body

    def stream_body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """See ``WireFormat.stream_body``."""
        return {**self.body(model, request), "stream": True}

    def read(self, body: object) -> ModelAnswer:
        """See ``WireFormat.read``."""
        return read_response(body, self._server)

    def stream(self) -> ResponsesStream:
        """See ``WireFormat.stream``."""
        return ResponsesStream(self._server)

    def failure(self, sent: Mapping[str, Any], error: ModelError) -> ModelError:
        """See ``WireFormat.failure``.

        An answer that the server has forgotten is not named again, reasoning that it refuses to encrypt is not asked
        for again, and what it cannot read is not sent back again: the next try is another request.
        """
        if error.status not in {400, 404}:
            return error
        thoughts = [str(item.get("id")) for item in sent["input"] if item.get("type") == "reasoning"]
        said = str(error).lower().replace("_", " ")
        named = sent.get("previous_response_id") if self._server_history else None
        if named is not None and "previous response" in said:
            self._forgotten.add(str(named))
            return _again(error, FORGOTTEN, "sends the whole history")
        if "encrypted content" in said and "support" in said and ENCRYPTED in (as_list(sent.get("include")) or ()):
            self._encrypts = False
            return _again(error, NOT_ENCRYPTED, "does not ask for reasoning")
        if thoughts and (any(words in said for words in _ABOUT_REASONING) or any(t in str(error) for t in thoughts)):
            self._not_taken.update(thoughts)
            return _again(error, NOT_TAKEN, "leaves out the reasoning so far")
        return error

    def _takes(self, reasoning: Mapping[str, Any], *, reasons: bool) -> bool:
        """Whether the server takes reasoning back, as far as it is known."""
        return reasons and str(reasoning.get("id")) not in self._not_taken

    def _history(self, request: ModelRequest, *, kept: bool) -> dict[str, Any]:
        found = last_kept(request.messages, self._server) if self._server_history else None
        if found is None or found[0] in self._forgotten:
            return {"input": input_items(request.messages, self._server, kept=kept)}
        named, first = found
        items = input_items(request.messages[first:], self._server, kept=kept)
        return {"previous_response_id": named, "input": items}


def _again(error: ModelError, error_type: str, what: str) -> ModelError:
    """The error of a try that can be made at once in another way."""
    said = f"{error} (the next try {what})"
    return ModelError(said, error_type=error_type, retryable=True, retry_after=0.0, status=error.status)


def _without_reasoning(model: str) -> bool:
    """By the name, a router's prefix left out."""
    return model.rpartition("/")[2].startswith(_WITHOUT_REASONING)


def request_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's parameters under their names in this API; what it has not stays, for the server to judge."""
    changed = {"reasoning_effort", *_SHAPES, *_CAPS}
    parameters = {key: value for key, value in given.items() if key not in changed}
    caps = [given[name] for name in _CAPS if given.get(name) is not None]
    if caps:
        parameters["max_output_tokens"] = caps[0]
    if given.get("reasoning_effort") is not None:
        parameters["reasoning"] = {"effort": given["reasoning_effort"], **(as_object(given.get("reasoning")) or {})}
    shapes = {field: given[name] for name, field in _SHAPES.items() if given.get(name) is not None}
    if shapes:
        shapes |= {"format": _flat(shapes["format"], "json_schema")} if "format" in shapes else {}
        parameters["text"] = {**shapes, **(as_object(given.get("text")) or {})}
    return parameters


def flat_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool definition without the layer that Chat Completions has.

    Functions are strict here unless they say otherwise, and a schema that is not written for it would change.
    """
    flat = _flat(tool, "function")
    return {"parameters": None, "strict": False, **flat} if flat.get("type") == "function" else flat


def flat_choice(choice: str | Mapping[str, Any]) -> Any:
    """A tool choice without the layer that Chat Completions has."""
    if isinstance(choice, str):
        return choice
    flat = choice
    for kind in ("function", "custom", "allowed_tools"):
        flat = _flat(flat, kind)
    if flat.get("type") == "allowed_tools":
        flat = {**flat, "tools": [flat_choice(as_object(tool) or {}) for tool in as_list(flat.get("tools")) or ()]}
    return flat


def _flat(value: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """``{"type": kind, kind: {...}}`` as one object; any other as it is."""
    inner = as_object(value.get(kind))
    if value.get("type") != kind or inner is None:
        return dict(value)
    return {**{key: given for key, given in value.items() if key != kind}, **inner, "type": kind}
