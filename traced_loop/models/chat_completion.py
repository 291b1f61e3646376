"""A Chat Completions response body, read into a ``ModelAnswer``: whatever its shape, never a crash."""

import re
from collections.abc import Mapping
from typing import Any, Final

from traced_loop.closed_words import Anomaly, ModelErrorKind
from traced_loop.json_shapes import as_list, as_object, as_text, deeper_than
from traced_loop.messages import Message, ModelAnswer, TokenUsage
from traced_loop.models.asked_wait import asked_wait
from traced_loop.models.error_kinds import kind_of

MAX_DEPTH: Final = 128
"""A message that nests deeper could not be stored or sent back: it counts as none."""
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def read_body(body: object) -> ModelAnswer:
    """Read a parsed response body.

    A body without a usable choice, or with an error object in it, becomes an answer with ``error`` set: its usage was
    billed and still counts.
    """
    fields = as_object(body)
    if fields is None:
        said = "the body is not a JSON object"
        return ModelAnswer(
            message=None,
            finish_reason=None,
            error=said,
            error_code="invalid_response",
            error_kind=ModelErrorKind.NO_ANSWER,
        )
    usage, anomalies = read_usage(_usage_of(fields))
    choices = as_list(fields.get("choices")) or []
    choice = (as_object(choices[0]) if choices else None) or {}
    message = _message(choice.get("message"))
    if len(choices) > 1:
        anomalies = (*anomalies, Anomaly.SEVERAL_CHOICES)
    raw_error: object = fields.get("error") or choice.get("error")
    error, code = _error(raw_error, choice, message)
    return ModelAnswer(
        message=message,
        finish_reason=as_text(choice.get("finish_reason")),
        usage=usage,
        response_id=as_text(fields.get("id")),
        response_model=as_text(fields.get("model")),
        anomalies=anomalies,
        error=error,
        error_code=code,
        error_kind=error_kind(raw_error, code) if error is not None else None,
        error_retry_after=asked_wait({}, raw_error, limited=True) if raw_error else None,
    )


def error_word(raw: object) -> str | None:
    """A code as it may become ``error.type``: a number or a short word; a sentence is content."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw) if 0 < raw < 2**53 else None
    return raw if isinstance(raw, str) and _CODE.fullmatch(raw) else None


def read_usage(raw: object) -> tuple[TokenUsage, tuple[Anomaly, ...]]:
    """Token counts of a response; what is missing or of the wrong type is unknown, never zero.

    All-zero counts are unknown too: no answer costs nothing, servers that cannot count send zeros.
    """
    fields = as_object(raw)
    if fields is None:
        return TokenUsage(), (Anomaly.USAGE_MISSING,)
    given, answered, total = (_count(fields.get(k)) for k in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if not given and not answered and not total:
        return TokenUsage(), (Anomaly.USAGE_MISSING,)
    if total and not given and not answered:
        given = answered = None  # a sum of nothing and nothing is no split
    cached = _cached(fields)
    reasoning = _count(_detail(fields, "completion_tokens_details", "reasoning_tokens")) or 0
    counted = (fields.get("prompt_tokens"), fields.get("completion_tokens"))
    odd = (given is not None and cached > given) or any(
        raw is not None and read is None for raw, read in zip(counted, (given, answered), strict=True)
    )
    usage = TokenUsage(
        input=given,
        output=answered,
        cached=min(cached, given) if given is not None else cached,
        reasoning=min(reasoning, answered) if answered is not None else reasoning,
        total=given + answered if given is not None and answered is not None else total,
        source="provider",
    )
    return usage, (Anomaly.USAGE_INCONSISTENT,) if odd else ()


def _error(raw: object, choice: Mapping[str, Any], message: Message | None) -> tuple[str | None, str]:
    if raw:
        details = as_object(raw) or {"message": raw}
        said = details.get("message")
        text = said if isinstance(said, str) and said else "the provider reported an error"
        return text, error_word(details.get("code")) or error_word(details.get("type")) or "_OTHER"
    if message is None:
        return "the response holds no choice with a message", "invalid_response"
    if choice.get("finish_reason") == "error":
        return "the provider ended the answer with an error", "provider_error"
    return None, ""


def error_kind(raw: object, code: str) -> ModelErrorKind:
    """The kind of an error inside of a response: by its object, where there is one, else by the word that it got."""
    if raw:
        return kind_of(None, raw)
    return ModelErrorKind.NO_ANSWER if code == "invalid_response" else ModelErrorKind.SERVER_ERROR


def _message(raw: object) -> Message | None:
    fields = as_object(raw)
    if fields is None or deeper_than(fields, MAX_DEPTH):
        return None
    message = dict(fields)
    message["role"] = "assistant"
    message.setdefault("content", None)
    return message


def _usage_of(fields: Mapping[str, Any]) -> object:
    """The counts where they stand: Groq has them under ``x_groq``, too, and in streams only there."""
    return fields.get("usage") or _detail(fields, "x_groq", "usage")


def _cached(fields: Mapping[str, Any]) -> int:
    """Cached input: in the details, or where DeepSeek (``prompt_cache_hit_tokens``) and Moonshot have it."""
    told = (
        _detail(fields, "prompt_tokens_details", "cached_tokens"),
        fields.get("prompt_cache_hit_tokens"),
        fields.get("cached_tokens"),
    )
    return next((count for raw in told if (count := _count(raw))), 0)


def _detail(fields: Mapping[str, Any], group: str, name: str) -> object:
    return (as_object(fields.get(group)) or {}).get(name)


def _count(raw: object) -> int | None:
    if isinstance(raw, bool):
        return None
    if isinstance(raw, str) and raw.strip().isascii() and raw.strip().isdigit() and len(raw) <= 18:
        return int(raw)
    if isinstance(raw, float) and raw.is_integer() and 0 <= raw < 2**53:
        return int(raw)
    return raw if isinstance(raw, int) and 0 <= raw < 2**53 else None
