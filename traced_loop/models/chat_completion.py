"""A Chat Completions response body, read into a ``ModelAnswer``: whatever its shape, never a crash."""

import re
from collections.abc import Mapping
from typing import Any, Final

from traced_loop.closed_words import Anomaly
from traced_loop.json_shapes import as_list, as_object, as_text, deeper_than
from traced_loop.messages import Message, ModelAnswer
from traced_loop.models.usage_counts import read_usage

MAX_DEPTH: Final = 128
"""A message that nests deeper could not be stored or sent back: it counts as none."""
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_RETRYABLE_CODES: Final = frozenset({"408", "409", "429", "500", "502", "503", "504", "529"})


def read_body(body: object) -> ModelAnswer:
    """Read a parsed response body.

    A body without a usable choice, or with an error object in it, becomes an answer with ``error`` set: its usage was
    billed and still counts.
    """
    fields = as_object(body)
    if fields is None:
        said = "the body is not a JSON object"
        return ModelAnswer(message=None, finish_reason=None, error=said, error_code="invalid_response")
    usage, anomalies = read_usage(fields.get("usage"))
    choices = as_list(fields.get("choices")) or []
    choice = (as_object(choices[0]) if choices else None) or {}
    message = _message(choice.get("message"))
    if len(choices) > 1:
        anomalies = (*anomalies, Anomaly.SEVERAL_CHOICES)
    error, code = _error(fields, choice, message)
    return ModelAnswer(
        message=message,
        finish_reason=as_text(choice.get("finish_reason")),
        usage=usage,
        response_id=as_text(fields.get("id")),
        response_model=as_text(fields.get("model")),
        anomalies=anomalies,
        error=error,
        error_code=code,
    )


def is_retryable_code(code: str | None) -> bool:
    """Whether an error code inside a successful response says that the same request may work later."""
    return code in _RETRYABLE_CODES


def _error(fields: Mapping[str, Any], choice: Mapping[str, Any], message: Message | None) -> tuple[str | None, str]:
    raw = fields.get("error") or choice.get("error")
    if raw:
        details = as_object(raw) or {"message": raw}
        said = details.get("message")
        text = said if isinstance(said, str) and said else "the provider reported an error"
        return text, _word(details.get("code")) or _word(details.get("type")) or "_OTHER"
    if message is None:
        return "the response holds no choice with a message", "invalid_response"
    if choice.get("finish_reason") == "error":
        return "the provider ended the answer with an error", "provider_error"
    return None, ""


def _word(raw: object) -> str | None:
    """A code as it may become ``error.type``: a number or a short word; a sentence is content."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw) if 0 < raw < 2**53 else None
    return raw if isinstance(raw, str) and _CODE.fullmatch(raw) else None


def _message(raw: object) -> Message | None:
    fields = as_object(raw)
    if fields is None or deeper_than(fields, MAX_DEPTH):
        return None
    message = dict(fields)
    message["role"] = "assistant"
    message.setdefault("content", None)
    return message
