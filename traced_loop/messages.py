"""The values that travel between the parts: messages, calls and results, requests and answers, token counts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Final, Protocol

from traced_loop.closed_words import Anomaly, ModelErrorKind, UsageSource
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.outcomes import Outcome

Message = dict[str, Any]
"""One message exactly as it goes over the wire (Chat Completions form), unknown fields included.

A plain dict on purpose: what a provider sent goes back unchanged, whatever fields it invents.
"""


RESPONSE_FIELD: Final = "openai_response"
"""Field of an assistant message with what the Responses API sent, for the server that sent it.

``{"id": ..., "server": ..., "output": [...]}``: the id where the server keeps the answer, its address, and the output
items as they came. The message's own text and calls are what counts: items that say something else are not sent back.
"""


@frozen_value
class TokenUsage:
    """Token counts of one answer. None means unknown, never zero.

    Attributes:
        input: tokens of the request, cached ones included.
        output: tokens of the answer, reasoning included.
        cached: part of ``input`` that came from the provider's cache.
        reasoning: part of ``output``.
        cache_write: part of ``input`` that was written into the provider's cache; never part of ``cached``.
        input_audio: part of ``input``.
        output_audio: part of ``output``.
        total: what counts against a token limit; known even where the split is not.
        source: who counted.
        cost_usd: what the provider itself says that the answer costs, or None where it does not say.
    """

    input: int | None = None
    output: int | None = None
    cached: int = 0
    reasoning: int = 0
    cache_write: int = 0
    input_audio: int = 0
    output_audio: int = 0
    total: int | None = None
    source: UsageSource = "missing"
    cost_usd: Decimal | None = None

    def plus(self, other: "TokenUsage") -> "TokenUsage":
        """Both together; what either does not know is unknown."""
        return TokenUsage(
            input=_plus(self.input, other.input),
            output=_plus(self.output, other.output),
            cached=self.cached + other.cached,
            reasoning=self.reasoning + other.reasoning,
            cache_write=self.cache_write + other.cache_write,
            input_audio=self.input_audio + other.input_audio,
            output_audio=self.output_audio + other.output_audio,
            total=_plus(self.total, other.total),
            source=self.source if self.source == other.source else "estimated",
            cost_usd=None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd,
        )


@frozen_value
class ToolCall:
    """What the model proposes; not yet permitted.

    Attributes:
        id: non-empty and unique within its answer, repaired where the provider's was not.
        index: 0-based place in the answer.
        name: as the model wrote it.
        arguments: as the model wrote them, JSON text or not.
        anomalies: repairs that were made to this call.
    """

    id: str
    index: int
    name: str
    arguments: str
    anomalies: tuple[Anomaly, ...] = ()


@frozen_value
class ToolResult:
    """What the model is told back about one call, and how the call ended.

    Attributes:
        content: compact JSON; ``{"status":"completed","result":...}`` or ``{"status":"error",...}``.
        undone: True where it was done and has been undone, False where that was wanted and it is not; else None.
    """

    call: ToolCall
    outcome: Outcome
    content: str
    undone: bool | None = None

    def message(self) -> Message:
        """The ``tool`` message that answers the call's id."""
        return {"role": "tool", "tool_call_id": self.call.id, "content": self.content}


@frozen_value
class ModelChunk:
    """What came with one piece of a streamed answer.

    Attributes:
        text: what the model says to the reader, ``""`` for none.
        characters: of everything that the model has written in it: text, reasoning, arguments of calls.
        usage: the counts so far, where the piece holds them; a later one replaces it.
    """

    text: str = ""
    characters: int = 0
    usage: TokenUsage | None = None


class RunMessages(list[Message]):
    """The history of a run. What a model has made of it can stand beside it, for the run's next request."""

    __slots__ = ("made",)

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Nothing is made of them yet."""
        super().__init__(messages)
        self.made: object = None


@frozen_value
class ModelRequest:
    """One request to a model.

    Attributes:
        messages: the whole history; read it, never change it.
        tools: function definitions in Chat Completions form; empty for none.
        tool_choice: as in Chat Completions, or None to leave it out.
        parameters: the caller's own request parameters (``temperature``, ...).
        output_cap: at most this many output tokens, or None for the provider's own maximum.
        timeout: seconds that the answer may take.
        on_chunk: told about each piece of a streamed answer as it comes; never where the answer comes whole.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_cap: int | None = None
    timeout: float = 120.0
    on_chunk: Callable[[ModelChunk], None] | None = None


@frozen_value
class ModelAnswer:
    """One answer of a model, read but not yet judged.

    Attributes:
        message: the assistant message whole, or None when the provider sent none.
        finish_reason: the provider's word, raw, or None.
        usage: token counts as the provider gave them.
        response_id: the provider's id of this answer, or None.
        response_model: the model that answered, or None.
        anomalies: what was odd already while reading.
        error: the provider's error text inside a successful response, or None.
        error_code: its code as a word, or None.
        error_kind: the closed word for what failed; None where there is no error, or to let the loop tell it from the
            code.
        error_retry_after: seconds that the error asks to wait, or None.
    """

    message: Message | None
    finish_reason: str | None
    usage: TokenUsage = field(default_factory=TokenUsage)
    response_id: str | None = None
    response_model: str | None = None
    anomalies: tuple[Anomaly, ...] = ()
    error: str | None = None
    error_code: str | None = None
    error_kind: ModelErrorKind | None = None
    error_retry_after: float | None = None


class Model(Protocol):
    """Anything that answers requests: a provider's adapter, a script, a recording.

    Adapters raise ``ModelError`` when no answer can be had; every other exception ends the run as
    ``harness_error``.
    """

    @property
    def name(self) -> str:
        """The model that is asked for, as configured: it becomes a span name."""
        ...

    @property
    def provider(self) -> str:
        """Who serves it, a word of ``gen_ai.provider.name``."""
        ...

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Answer one request. Cancelling the awaiting task ends the request."""
        ...


def response_reasoning(message: Mapping[str, Any]) -> list[str]:
    """What the reasoning items of a Responses answer say in words, one text each; encrypted ones say nothing."""
    held = as_object(message.get(RESPONSE_FIELD)) or {}
    said: list[str] = []
    for raw in as_list(held.get("output")) or ():
        item = as_object(raw) or {}
        if item.get("type") == "reasoning":
            parts = [*(as_list(item.get("content")) or ()), *(as_list(item.get("summary")) or ())]
            texts = [as_text((as_object(part) or {}).get("text")) for part in parts]
            said.extend(["\n\n".join(found)] if (found := [text for text in texts if text]) else [])
    return said


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
