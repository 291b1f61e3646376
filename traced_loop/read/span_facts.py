"""What one span says of an agent's run, whatever its dialect: a request, a call, a run, or nothing of these.

None stands for unknown. Texts are content as it was recorded; what stands for hidden content is never in here.
"""

from decimal import Decimal
from typing import Literal

from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import Dialect
from traced_loop.read.shown_name import shown_name

FactKind = Literal["run", "request", "call"]


@frozen_value
class AskedCall:
    """A call as a model's answer, or a later history, has it; ``arguments`` is the text as recorded."""

    call_id: str = ""
    tool: str = ""
    arguments: str | None = None

    def __post_init__(self) -> None:
        """Mask what looks like a credential in the tool's name."""
        object.__setattr__(self, "tool", shown_name(self.tool))


@frozen_value
class SaidMessage:
    """One message.

    Attributes:
        role: ``system``, ``user``, ``assistant``, ``tool``, or the writer's own word.
        text: what it says; None where it says nothing or that is hidden.
        calls: asked for in it.
        results: call id and text of each result in it; the text is None where it is hidden.
    """

    role: str
    text: str | None = None
    calls: tuple[AskedCall, ...] = ()
    results: tuple[tuple[str, str | None], ...] = ()


@frozen_value
class RequestFacts:
    """A model request. The fields that ``StoredRequest`` has mean the same here.

    Attributes:
        history: the messages that were sent, None where they are not there.
        answer: the messages that came back, likewise.
    """

    model: str = ""
    response_model: str = ""
    response_id: str = ""
    provider: str = ""
    first_token_ns: int = 0
    finish_reasons: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    input_audio_tokens: int | None = None
    output_audio_tokens: int | None = None
    cost_usd: Decimal | None = None
    history: tuple[SaidMessage, ...] | None = None
    answer: tuple[SaidMessage, ...] | None = None

    @property
    def asked(self) -> tuple[AskedCall, ...] | None:
        """The calls of the answer; None where the answer is not there."""
        return None if self.answer is None else tuple(call for message in self.answer for call in message.calls)

    @property
    def has_usage(self) -> bool:
        """Whether any tokens are told."""
        return self.input_tokens is not None or self.output_tokens is not None


@frozen_value
class CallFacts:
    """A tool that ran.

    Attributes:
        tool: its name.
        call_id: the provider's id, or ``""``.
        arguments: text as recorded, usually JSON.
        result: likewise.
        error_type: of a failure that the span names.
        error_text: likewise.
        is_error: it failed.
    """

    tool: str = ""
    call_id: str = ""
    arguments: str | None = None
    result: str | None = None
    error_type: str | None = None
    error_text: str | None = None
    is_error: bool = False

    def __post_init__(self) -> None:
        """Mask what looks like a credential in the names of the tool and of its error."""
        object.__setattr__(self, "tool", shown_name(self.tool))
        if self.error_type is not None:
            object.__setattr__(self, "error_type", shown_name(self.error_type))


@frozen_value
class RunFacts:
    """A whole run, or the part of it that one agent has.

    Attributes:
        agent: its name, ``""`` for a workflow around agents.
        session_id: the conversation, or None.
        model: the one that is told for all of it.
        usage: sums that the span repeats from the requests below it.
    """

    agent: str = ""
    session_id: str | None = None
    model: str = ""
    usage: RequestFacts | None = None


@frozen_value
class SpanFacts:
    """What a span is, and in whose words; exactly one of the three is there."""

    dialect: Dialect
    request: RequestFacts | None = None
    call: CallFacts | None = None
    run: RunFacts | None = None
