"""A Chat Completions response body, read into a ``ModelAnswer``: whatever its shape, never a crash."""

import re
from collections.abc import Mapping
from typing import Any, Final

from traced_loop.closed_words import Anomaly, ModelErrorKind
from traced_loop.json_shapes import as_list, as_object, as_text, deeper_than
from traced_loop.messages import Message, ModelAnswer
from traced_loop.models.asked_wait import asked_wait
from traced_loop.models.error_kinds import kind_of
from traced_loop.models.usage_counts import read_usage

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
        return no_object()
    usage, anomalies = read_usage(usage_of(fields))
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


def no_object() -> ModelAnswer:
    """What is made of a body that is no JSON object, by either API."""
    return ModelAnswer(
        message=None,
        finish_reason=None,
        error="the body is not a JSON object",
        error_code="invalid_response",
        error_kind=ModelErrorKind.NO_ANSWER,
    )


def stated_error(raw: object) -> tuple[str, str]:
    """Text and code of an error that stands in a response, whatever its shape."""
    details = as_object(raw) or {"message": raw}
    said = as_text(details.get("message")) or "the provider reported an error"
    return said, _error_word(details.get("code")) or _error_word(details.get("type")) or "_OTHER"


def _error_word(raw: object) -> str | None:
    """A code as it may become ``error.type``: a number or a short word; a sentence is content."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw) if 0 < raw < 2**53 else None
    return raw if isinstance(raw, str) and _CODE.fullmatch(raw) else None


def _error(raw: object, choice: Mapping[str, Any], message: Message | None) -> tuple[str | None, str]:
    if raw:
        return stated_error(raw)
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


def usage_of(fields: Mapping[str, Any]) -> object:
    """The counts where they stand: Groq has them under ``x_groq``, too, and in streams only there."""
    return fields.get("usage") or (as_object(fields.get("x_groq")) or {}).get("usage")
