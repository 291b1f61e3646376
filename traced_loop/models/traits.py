"""What the loop may know of a model beside its name: prices, limits, tolerated quirks, where it is served."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Any, Final, Literal

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import words
from traced_loop.messages import Model
from traced_loop.rules.pricing import Pricing

Quirk = Literal["stop_with_tool_calls"]
QUIRKS: Final[frozenset[str]] = frozenset({"stop_with_tool_calls"})
"""``stop_with_tool_calls``: accept complete calls beside the finish reason ``stop``."""

OUTPUT_CEILING: Final = 16_384
"""Output tokens that a model is taken to give at most when nobody says: the maximum of the GPT-4o family, which most
servers that speak its protocol stay under. Only used to decide from when on a request carries a cap."""


@frozen_value
class ModelTraits:
    """Traits of one model.

    Attributes:
        tolerate: quirks that are accepted and noted instead of stopping the run.
        pricing: the price of an answer by the model that gave it, or None when nobody knows.
        output_ceiling: output tokens that the model gives at most.
        output_floor: the smallest output cap that the server takes.
        server_address: host that serves it, or None.
        server_port: port, or None for the scheme's own.
        strip: message fields that are not sent back to this provider.
        api_type: which of OpenAI's APIs is asked, a word of ``openai.api.type``, or None.
        echo: message fields of its own that it wants back: kept also where other providers' fields are left out.
        fill: fields that it misses in another model's messages with calls, and what is sent there.
        fill_call: likewise in the first call of such a message.
        user_after_tool: whether it takes a user message right after a tool's result; where not, a short message of the
            assistant is sent between the two.
        call_ids: pattern that a call id must match as a whole to be taken, or None for any; others are sent as digests
            of themselves that match ``[A-Za-z0-9]{9}``.
        prepare: called in the event loop before a run's clock starts, for what is slow the first time (imports).
        streams: whether its answers are asked for in pieces.
    """

    tolerate: frozenset[str] = frozenset()
    pricing: Callable[[str], Pricing | None] = lambda _model: None
    output_ceiling: int = OUTPUT_CEILING
    output_floor: int = 1
    server_address: str | None = None
    server_port: int | None = None
    strip: frozenset[str] = frozenset()
    api_type: str | None = None
    echo: frozenset[str] = frozenset()
    fill: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fill_call: Mapping[str, Any] = field(default_factory=dict[str, Any])
    user_after_tool: bool = True
    call_ids: str | None = None
    prepare: Callable[[], object] = lambda: None
    streams: bool = False


def traits_of(model: Model) -> ModelTraits:
    """The model's own traits, or the defaults for a model that has none."""
    found = getattr(model, "traits", None)
    return found if isinstance(found, ModelTraits) else ModelTraits()


def checked_quirks(tolerate: Collection[str], *, of: str) -> frozenset[str]:
    """The quirks, if all are known.

    Raises:
        UsageError: a word that is none of ``QUIRKS``, or no collection of words.
    """
    found = words("tolerate", tolerate, of=of)
    unknown = found - QUIRKS
    if unknown:
        word, known = sorted(unknown)[0], f"known: {', '.join(sorted(QUIRKS))}"
        raise UsageError(
            f"tolerate={word!r} is not a known quirk; {known}", typed=f"--tolerate {word}: no known quirk; {known}"
        )
    return found
