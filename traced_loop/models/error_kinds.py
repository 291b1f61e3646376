"""Which kind of failure a response is: by its status, and by words that providers document or have always sent.

Nothing is guessed: a word that is not in the table leaves the decision to the status. Sources of the words:
platform.openai.com/docs/guides/error-codes, console.groq.com/docs/errors and /docs/flex-processing (498),
api-docs.deepseek.com/quick_start, openrouter.ai/docs/api/reference/errors-and-debugging,
ai.google.dev/gemini-api/docs/troubleshooting, learn.microsoft.com (Azure OpenAI content filtering), and what users
report of vLLM, llama.cpp and Ollama. Moonshot's ``*_error`` words and Groq's ``output_parse_failed`` could not be
looked up.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from traced_loop.closed_words import ModelErrorKind as Kind
from traced_loop.errors import ModelError
from traced_loop.messages import ModelAnswer
from traced_loop.models.error_body import messages_of, words_of
from traced_loop.rules.model_error_kinds import KIND_OF_OWN_WORD, KIND_RULES, kind_of_status

_WORDS: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.QUOTA_EXHAUSTED: frozenset(
        {
            "insufficient_quota",
            "credit_balance_exhausted",
            "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "exceeded_current_quota_error",
        }
    ),
    Kind.CONTEXT_TOO_LONG: frozenset({"context_length_exceeded", "exceed_context_size_error"}),
    Kind.TOOL_USE_FAILED: frozenset({"tool_use_failed", "output_parse_failed"}),
    Kind.CONTENT_FILTERED: frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}),
    Kind.OVERLOADED: frozenset(
        {
            "capacity_exceeded",
            "overloaded",
            "overloaded_error",
            "server_is_overloaded",
            "engine_overloaded_error",
            "service_unavailable_error",
            "unavailable",
        }
    ),
    Kind.RATE_LIMITED: frozenset(
        {"rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "slow_down", "resource_exhausted"}
    ),
    Kind.AUTH: frozenset(
        {
            "invalid_api_key",
            "api_key_invalid",
            "authentication_error",
            "invalid_authentication_error",
            "unauthenticated",
        }
    ),
    Kind.PERMISSION: frozenset({"permission_error", "permission_denied", "unsupported_country_region_territory"}),
    Kind.NOT_FOUND: frozenset(
        {"model_not_found", "model_decommissioned", "not_found_error", "not_found", "deploymentnotfound"}
    ),
    Kind.REQUEST_TOO_LARGE: frozenset({"request_too_large"}),
    Kind.TIMEOUT: frozenset({"timeout_error", "deadline_exceeded"}),
    Kind.SERVER_ERROR: frozenset({"server_error", "internal_server_error", "api_error", "internal"}),
}
"""Words of ``code``, ``type``, ``status`` or ``reason``, in lower case. Not among them: words that say no more than the
status does, as ``invalid_request_error``, which OpenAI sends with 401, too."""

_KIND_OF_WORD: Final = {word: kind for kind, words in _WORDS.items() for word in words}

_TOO_LONG: Final = (
    "maximum context length",
    "exceeds the maximum number of tokens allowed",
    "model's context length",
    "maximum prompt length",
    "exceeded model token limit",
    "prompt is too long",
)
"""What OpenAI, vLLM and Mistral, Gemini, SGLang, xAI, Moonshot and Anthropic say where no code does."""
_MAY_PASS: Final = frozenset({Kind.RATE_LIMITED, Kind.OVERLOADED, Kind.SERVER_ERROR, Kind.TIMEOUT})
_GENERAL: Final = frozenset({Kind.RATE_LIMITED, Kind.SERVER_ERROR})
"""Kinds whose words stand beside more telling ones."""
_UNSURE: Final = frozenset({Kind.INVALID_REQUEST, Kind.REQUEST_TOO_LARGE, Kind.OTHER})
_MOST_CHARACTERS: Final = 4_000


def kind_of(status: int | None, body: object) -> Kind:
    """The kind of a failed response.

    Args:
        status: its HTTP status; None for an error inside of a successful one, whose code may be a status.
        body: as parsed JSON, or text.
    """
    words = words_of(body)
    found = kind_of_words(words, status)
    if found in _UNSURE and any(sign in text for text in _messages(body) for sign in _TOO_LONG):
        return Kind.CONTEXT_TOO_LONG
    return found


def kind_of_words(words: Sequence[str], status: int | None = None) -> Kind:
    """The kind by words, else by the status, else by a word that is a status.

    A word that says that it may pass counts only where the status does not say that it will not: a 401 of the type
    ``server_error`` is a 401, and Groq calls a request that no rate allows (413) ``rate_limit_exceeded``.
    """
    by_status = None if status is None else kind_of_status(status)
    final = by_status is not None and not KIND_RULES[by_status].again
    named = [_KIND_OF_WORD[word.lower()] for word in words if word.lower() in _KIND_OF_WORD]
    telling = [kind for kind in named if not (final and kind in _MAY_PASS)]
    found = next((kind for kind in telling if kind not in _GENERAL), next(iter(telling), by_status))
    if found is not None:
        return found
    numbers = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) == 3]
    return kind_of_status(numbers[0]) if numbers else Kind.OTHER


def kind_named(word: str | None) -> Kind | None:
    """The kind of that name, as spans and recordings have it; None for anything else."""
    return next((kind for kind in Kind if kind == word), None)


def kind_of_error(error: ModelError) -> Kind:
    """What an adapter says, else what its status and its word tell."""
    if error.kind is not None:
        return error.kind
    if error.error_type in KIND_OF_OWN_WORD and error.status is None:
        return KIND_OF_OWN_WORD[error.error_type]
    return kind_of_words([error.error_type], error.status)


def kind_of_answer(answer: ModelAnswer) -> Kind:
    """The kind of the error inside of an answer; for an adapter that does not say, by its code."""
    return answer.error_kind or kind_of_words([answer.error_code or ""])


def _messages(body: object) -> list[str]:
    return [text[:_MOST_CHARACTERS].lower() for text in messages_of(body)]
