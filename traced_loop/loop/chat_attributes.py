"""What a ``chat`` span carries: of the request, of who answered, of the answer, of what it is billed."""

import re
from collections.abc import Mapping
from typing import Any, Final, overload

from traced_loop import names
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.routes import Route
from traced_loop.rules.billing import Bill

_REQUEST_KEYS: Final[Mapping[str, str]] = {
    "temperature": names.GEN_AI_REQUEST_TEMPERATURE,
    "top_p": names.GEN_AI_REQUEST_TOP_P,
    "frequency_penalty": names.GEN_AI_REQUEST_FREQUENCY_PENALTY,
    "presence_penalty": names.GEN_AI_REQUEST_PRESENCE_PENALTY,
    "seed": names.GEN_AI_REQUEST_SEED,
    "stop": names.GEN_AI_REQUEST_STOP,
    "reasoning_effort": names.GEN_AI_REQUEST_REASONING,
}


def start_attributes(route: Route, request: ModelRequest, step: int) -> dict[str, Any]:
    """What is known before the request is sent; ``step`` is 1-based."""
    parameters = {key: request.parameters.get(field) for field, key in _REQUEST_KEYS.items()}
    stop = parameters[names.GEN_AI_REQUEST_STOP]
    return {
        names.GEN_AI_OPERATION: names.CHAT,
        names.GEN_AI_PROVIDER: route.model.provider,
        names.GEN_AI_REQUEST_MODEL: route.model.name,
        names.OPENAI_API_TYPE: route.traits.api_type,
        names.SERVER_ADDRESS: route.traits.server_address,
        names.SERVER_PORT: route.traits.server_port,
        names.STEP_INDEX: step,
        **parameters,
        names.GEN_AI_REQUEST_STOP: [stop] if isinstance(stop, str) else stop,
        names.GEN_AI_REQUEST_MAX_TOKENS: output_cap(request),
        names.GEN_AI_REQUEST_STREAM: route.traits.streams or None,
    }


def answered_by(route: Route) -> dict[str, Any]:
    """Who answered in place of the model that was asked: whose price it is, and where to look."""
    return {
        names.FALLBACK_MODEL: route.model.name,
        names.GEN_AI_PROVIDER: route.model.provider,
        names.OPENAI_API_TYPE: route.traits.api_type,
        names.SERVER_ADDRESS: route.traits.server_address,
        names.SERVER_PORT: route.traits.server_port,
    }


def output_cap(request: ModelRequest) -> int | None:
    """The cap on the answer that the request carries: ours, or the caller's under any of its names."""
    for value in (
        request.output_cap,
        request.parameters.get("max_completion_tokens"),
        request.parameters.get("max_tokens"),
        request.parameters.get("max_output_tokens"),
    ):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


_WORD: Final = re.compile(r"[\w.:/@+-]{1,128}", re.ASCII)
"""What ids, model names and finish reasons look like; anything else in their place is text, and text is content: not
every writing puts spaces between words."""


@overload
def word(text: str) -> str: ...
@overload
def word(text: None) -> None: ...
def word(text: str | None) -> str | None:
    """The provider's word as it may stand on a span, raw where it is a word."""
    return text if text is None or _WORD.fullmatch(text) else "_other"


def finish_reasons(answer: ModelAnswer) -> list[str] | None:
    """The provider's word, or that it ended with an error; None where nothing says it."""
    if answer.finish_reason is not None:
        return [word(answer.finish_reason)]
    return ["error"] if answer.error is not None else None


def billed_attributes(billed: Bill) -> dict[str, Any]:
    """Tokens and cost, and where they come from."""
    usage, pricing = billed.usage, billed.pricing
    rates = pricing.rates if pricing is not None else None
    return {
        names.GEN_AI_INPUT_TOKENS: usage.input,
        names.GEN_AI_OUTPUT_TOKENS: usage.output,
        names.GEN_AI_CACHED_TOKENS: usage.cached or None,
        names.GEN_AI_REASONING_TOKENS: usage.reasoning or None,
        names.GEN_AI_CACHE_WRITE_TOKENS: usage.cache_write or None,
        names.GEN_AI_AUDIO_INPUT_TOKENS: usage.input_audio or None,
        names.GEN_AI_AUDIO_OUTPUT_TOKENS: usage.output_audio or None,
        names.USAGE_SOURCE: usage.source,
        names.COST_USD: float(billed.cost) if billed.cost is not None else None,
        names.COST_SOURCE: billed.source,
        names.COST_RATES: rates.text if rates is not None else None,
        names.COST_UPPER_BOUND: billed.is_upper_bound or None,
        names.COST_TABLE: pricing.table if pricing is not None else None,
    }
