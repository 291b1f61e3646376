"""A response body of the Responses API, read into a ``ModelAnswer``: whatever its shape, never a crash.

status        reason                 finish reason, raw      what becomes of it
completed                            completed               calls are handled, a text is final
incomplete    max_output_tokens      max_output_tokens       cut, none runs
incomplete    none                   incomplete              cut, none runs
incomplete    content_filter         content_filter          withheld, none runs
incomplete    any other              the reason              contradictory, none runs
failed                               failed                  an error with its code
any other                            the status              contradictory, none runs, unless Chat has that word

The finish reason is judged where those of Chat Completions are (``answer_verdict``).
"""

from collections.abc import Mapping
from typing import Any, Final

from traced_loop.closed_words import Anomaly
from traced_loop.json_shapes import as_list, as_object, as_text, deeper_than
from traced_loop.messages import RESPONSE_FIELD, Message, ModelAnswer
from traced_loop.models.asked_wait import asked_wait
from traced_loop.models.chat_completion import MAX_DEPTH, error_kind, no_object, stated_error
from traced_loop.models.responses_output import FUNCTION_CALL, Output, read_output
from traced_loop.models.usage_counts import read_usage

_KEPT: Final = frozenset({"completed", "incomplete"})
"""Statuses of answers that a later request can continue from."""


def read_response(body: object, server: str) -> ModelAnswer:
    """Read a parsed response body.

    A body without output, or with an error object in it, becomes an answer with ``error`` set: its usage was billed
    and still counts.

    Args:
        body: as parsed.
        server: the host that sent it; the items are for that one.
    """
    fields = as_object(body)
    if fields is None:
        return no_object()
    raw = as_list(fields.get("output"))
    output = read_output(raw) if raw is not None and not deeper_than(raw, MAX_DEPTH) else None
    error, code = _error(fields, output)
    usage, anomalies = read_usage(fields.get("usage"))
    if output is not None and output.unfinished and fields.get("status") == "completed":
        anomalies = (*anomalies, Anomaly.ITEM_INCOMPLETE)
    says_nothing = output is None or (error is not None and not (output.text or output.refusal))
    return ModelAnswer(
        message=None if output is None or says_nothing else _message(fields, output, server),
        finish_reason=_finish_reason(fields),
        usage=usage,
        response_id=as_text(fields.get("id")),
        response_model=as_text(fields.get("model")),
        anomalies=anomalies,
        error=error,
        error_code=code,
        error_kind=error_kind(fields.get("error"), code) if error is not None else None,
        error_retry_after=asked_wait({}, fields.get("error"), limited=True) if fields.get("error") else None,
    )


def _finish_reason(fields: Mapping[str, Any]) -> str | None:
    status = as_text(fields.get("status"))
    if status != "incomplete":
        return status
    return as_text((as_object(fields.get("incomplete_details")) or {}).get("reason")) or status


def _error(fields: Mapping[str, Any], output: Output | None) -> tuple[str | None, str]:
    raw, failed = fields.get("error"), fields.get("status") == "failed"
    if raw:
        return stated_error(raw)
    if failed:
        return "the provider ended the answer with an error", "provider_error"
    if output is None:
        return "the response holds no output", "invalid_response"
    return None, ""


def _message(fields: Mapping[str, Any], output: Output, server: str) -> Message:
    message: Message = {"role": "assistant", "content": output.text}
    if output.refusal is not None:
        message["refusal"] = output.refusal
    waiting = sorted((*output.calls, *output.unanswerable))
    if waiting:
        message["tool_calls"] = [_entry(output.items[at]) for at in waiting]
    sent: dict[str, Any] = {"server": server, "output": list(output.items)}
    identifier = as_text(fields.get("id"))
    # An answer that is not kept cannot be named in a later request.
    if identifier is not None and fields.get("store") is not False and as_text(fields.get("status")) in _KEPT:
        sent["id"] = identifier
    message[RESPONSE_FIELD] = sent
    return message


def _entry(item: Mapping[str, Any]) -> dict[str, Any]:
    """A call in Chat form; one that is no function call has no function, and nobody runs it."""
    kind = as_text(item.get("type")) or "unknown"
    entry: dict[str, Any] = {"type": "function" if kind == FUNCTION_CALL else kind}
    if as_text(item.get("call_id")) is not None:
        entry["id"] = item["call_id"]
    if kind == FUNCTION_CALL:
        entry["function"] = {"name": item.get("name"), "arguments": item.get("arguments")}
    return entry
