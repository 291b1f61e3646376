"""One run to do, and what each of its requests carries beside the history."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from traced_loop.frozen_value import frozen_value
from traced_loop.loop.chat_attributes import output_cap
from traced_loop.loop.continued_run import Continued
from traced_loop.loop.policy import Identity
from traced_loop.messages import Message, ModelRequest
from traced_loop.models.traits import OUTPUT_CEILING
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.telemetry.content.capture import OFF, ContentCapture


@frozen_value
class Task:
    """One run to do."""

    run_id: str
    messages: Sequence[Message]
    identity: Identity | None = None
    session_id: str | None = None
    content: ContentCapture = OFF
    allow_tools: frozenset[str] | None = None
    shared_budget: SharedBudget | None = None
    continued: Continued | None = None
    """What it goes on from, where it is resumed; the messages are then in the transcript already."""


@frozen_value
class RequestOptions:
    """What every request of a loop carries beside the history.

    Attributes:
        tools: function definitions in Chat Completions form.
        parameters: the caller's own request parameters.
        tool_choice: as in Chat Completions, or None to leave it out.
        output_ceiling: output tokens that the models give at most.
        output_floor: the smallest output cap that all of them take.
        caller_cap: the cap on the answer among the parameters, or None.
        tool_tokens: what the definitions take in each request, estimated.
    """

    tools: Sequence[Mapping[str, Any]] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tool_choice: str | Mapping[str, Any] | None = None
    output_ceiling: int = OUTPUT_CEILING
    output_floor: int = 1
    caller_cap: int | None = field(init=False)
    tool_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        """Compute once what is the same for every request."""
        object.__setattr__(self, "caller_cap", output_cap(ModelRequest(messages=(), parameters=self.parameters)))
        object.__setattr__(self, "tool_tokens", estimated_tokens(self.tools))
